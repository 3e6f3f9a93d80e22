// ConnectionTable: the open connections by client, and the choice of which one to close for a new
// one. It knows neither sockets nor time. A connection is idle while no request is in it; idle ones
// are kept in the order in which they became idle.
//
// There are at most `most` connections, and at most `max_of_client` of one client. A client at its
// own limit loses its longest-idle connection to the new one; if it has no idle one, the new one is
// refused. If all places are taken, the longest-idle connection of all is closed; if none is idle,
// the new one waits. So clients that send no requests keep no other client out.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>

namespace hearth {

template <typename Connection>
class ConnectionTable {
  struct Client;
  using List = std::list<Connection*>;

 public:
  enum class Verdict { kOpen, kWait, kRefuse };
  // The verdict on a new connection. If `closes` is not null, that connection is to be closed
  // first.
  struct Admission {
    Verdict verdict;
    Connection* closes = nullptr;
  };
  // The table's entry for one open connection.
  struct Place {
    Client* client = nullptr;  // null: no entry
    typename List::iterator in_all = {}, in_client = {};
    bool idle = true;
  };

  ConnectionTable(size_t most, size_t max_of_client) : most_(most), max_of_client_(max_of_client) {}

  Admission admit(const std::string& client) const {
    auto found = clients_.find(client);
    if (found != clients_.end() && found->second.count >= max_of_client_) {
      const List& idle = found->second.lists.idle;
      if (idle.empty()) return {Verdict::kRefuse};
      return {Verdict::kOpen, idle.front()};
    }
    if (count_ < most_) return {Verdict::kOpen};
    if (all_.idle.empty()) return {Verdict::kWait};
    return {Verdict::kOpen, all_.idle.front()};
  }

  // Adds a connection, idle at first. Throws only std::bad_alloc, and then adds nothing.
  Place open(const std::string& client, Connection* connection) {
    List all{connection}, own{connection};
    auto entry = clients_.try_emplace(client).first;
    Place place{&entry->second, all.begin(), own.begin()};
    place.client->name = &entry->first;
    all_.idle.splice(all_.idle.end(), all);
    place.client->lists.idle.splice(place.client->lists.idle.end(), own);
    ++place.client->count;
    ++count_;
    return place;
  }

  // These do nothing to a Place without an entry. Setting an idle connection idle does not restart
  // its idle time.
  void set_idle(Place& place, bool idle) {
    if (place.client == nullptr || place.idle == idle) return;
    all_.move(place.in_all, idle);
    place.client->lists.move(place.in_client, idle);
    place.idle = idle;
  }

  void close(Place& place) {
    if (place.client == nullptr) return;
    all_.of(place.idle).erase(place.in_all);
    place.client->lists.of(place.idle).erase(place.in_client);
    --count_;
    if (--place.client->count == 0) clients_.erase(clients_.find(*place.client->name));
    place.client = nullptr;
  }

  // Returns one of the connections; null where there is none.
  Connection* any() const {
    for (const List* list : {&all_.idle, &all_.busy}) {
      if (!list->empty()) return list->front();
    }
    return nullptr;
  }
  size_t count() const { return count_; }
  bool full() const { return count_ >= most_; }

 private:
  struct Lists {
    List idle, busy;  // in the order in which they became idle or busy

    List& of(bool is_idle) { return is_idle ? idle : busy; }
    void move(typename List::iterator at, bool to_idle) {
      of(to_idle).splice(of(to_idle).end(), of(!to_idle), at);
    }
  };
  struct Client {
    const std::string* name = nullptr;
    size_t count = 0;
    Lists lists;
  };

  size_t most_, max_of_client_;
  size_t count_ = 0;
  Lists all_;
  std::unordered_map<std::string, Client> clients_;
};

}  // namespace hearth
