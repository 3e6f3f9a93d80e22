// Measures the cost of the HTTP layer, on loopback: the reactor's time for 30,000 small events a
// second in 16 streams, the most events a second, and the memory of 5,000 idle connections and 100
// half-sent bodies.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "http/server.h"

namespace hearth {
namespace {

constexpr int kStreams = 16, kIdle = 5000, kHalves = 100;
constexpr double kRate = 30000, kSeconds = 3;

int connect_to(uint16_t port) {
  int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int failed = connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  HEARTH_CHECK(client >= 0 && failed == 0, "a client connects");
  return client;
}

void write_all(int client, const std::string& bytes) {
  HEARTH_CHECK(write(client, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
               "a client writes");
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double cpu_seconds(pthread_t thread) {
  clockid_t clock{};
  timespec time{};
  pthread_getcpuclockid(thread, &clock);
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Reads and drops all bytes until all connections are closed.
void drain(std::vector<int> clients) {
  std::vector<pollfd> polls;
  for (int client : clients) polls.push_back({client, POLLIN, 0});
  std::string buffer(64 << 10, '\0');
  for (size_t open = polls.size(); open > 0;) {
    poll(polls.data(), polls.size(), -1);
    for (pollfd& each : polls) {
      if (each.revents == 0 || read(each.fd, buffer.data(), buffer.size()) > 0) continue;
      close(each.fd);
      each.fd = -1;
      --open;
    }
  }
}

class Streams {
 public:
  void add(std::shared_ptr<Exchange> exchange) {
    exchange->begin_events();
    std::lock_guard lock(mutex_);
    exchanges_.push_back(std::move(exchange));
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return exchanges_.size();
  }
  // Sends one event at a time in each stream. Returns events a second; with rate 0, as many as are
  // sent.
  double run(double rate) {
    const std::string event = "data: " + std::string(180, 'x') + "\n\n";
    double start = steady_seconds(), sent = 0;
    while (steady_seconds() < start + kSeconds) {
      for (const auto& exchange : exchanges_) {
        while (exchange->unsent() > 64 << 10) std::this_thread::yield();
        exchange->send(event);
        ++sent;
      }
      double due = rate > 0 ? start + sent / rate - steady_seconds() : 0;
      if (due > 0) std::this_thread::sleep_for(std::chrono::duration<double>(due));
    }
    return sent / (steady_seconds() - start);
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> exchanges_;
};

void run() {
  HttpOptions options;
  options.port = 0;
  // There is room for the descriptors of both sides. All clients have one address.
  options.connections = options.address_connections = 12000;
  Streams streams;
  HttpServer server(
      options, [](const HttpRequest&) { return std::nullopt; },
      [&](std::shared_ptr<Exchange> exchange) { streams.add(std::move(exchange)); });
  std::thread reactor([&] { server.run(); });
  auto wait_for = [&](auto condition) {
    while (!condition()) std::this_thread::yield();
  };

  std::vector<int> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(connect_to(server.port()));
    write_all(clients.back(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  wait_for([&] { return streams.size() == kStreams; });
  std::thread reader([&] { drain(clients); });
  for (double rate : {kRate, 0.0}) {
    double before = cpu_seconds(reactor.native_handle());
    double reached = streams.run(rate);
    double share = (cpu_seconds(reactor.native_handle()) - before) / kSeconds;
    fmt::print("{:.0f} events/s, reactor busy for {:.0f} %\n", reached, share * 100);
  }

  double before = resident_mib();
  std::vector<int> others;
  for (int i = 0; i < kIdle; ++i) others.push_back(connect_to(server.port()));
  wait_for([&] { return server.connections() == kStreams + kIdle; });
  fmt::print("{} idle connections: {:.1f} MiB\n", kIdle, resident_mib() - before);
  for (int i = 0; i < kHalves; ++i) {
    others.push_back(connect_to(server.port()));
    write_all(others.back(), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\nhalf");
  }
  wait_for([&] { return server.connections() == kStreams + kIdle + kHalves; });
  fmt::print("and {} half-sent bodies: {:.1f} MiB\n", kHalves, resident_mib() - before);

  server.stop();
  reactor.join();
  reader.join();
  for (int client : others) close(client);
}

}  // namespace
}  // namespace hearth

int main() {
  hearth::run();
  return 0;
}
