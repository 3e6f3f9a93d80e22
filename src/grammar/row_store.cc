#include "grammar/row_store.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {
namespace {

// The most items of a row; beyond it the grammar is refused as too ambiguous.
constexpr size_t kMaxItems = 200'000;

}  // namespace

RowStore::RowStore(const Grammar& grammar) : grammar_(&grammar) {
  Item first{grammar.first_dot(), grammar.top(), kFirst, 0};
  intern(std::span(&first, 1), grammar.nullable(grammar.top()));
}

RowId RowStore::advance(std::span<const Scan> scans) {
  work_.clear();
  kernel_.clear();
  kernel_table_.clear();
  completed_.clear();
  completed_table_.clear();
  accepts_ = false;
  for (const Scan& scan : scans) {
    Waiting found = waiting(scan.row, scan.symbol);
    for (uint32_t i = 0; i < found.size; ++i) push_advanced(waiting_items_[found.items + i]);
  }
  return make();
}

RowId RowStore::make() {
  while (!work_.empty()) {
    Item item = work_.back();
    work_.pop_back();
    place(item);
  }
  std::ranges::sort(kernel_);
  return intern(kernel_, accepts_);
}

RowId RowStore::intern(std::span<const Item> items, bool accepts) {
  uint64_t hash = mix_hash(accepts ? 1 : 0, items.size());
  for (const Item& item : items) {
    hash = mix_hash(hash, (uint64_t{item.dot} << 32) | item.lhs);
    hash = mix_hash(hash, (uint64_t{item.origin} << 32) | item.count);
  }
  uint32_t found = row_table_.find(hash, [&](uint32_t id) {
    const Row& row = rows_[id];
    return row.accepts == accepts &&
           std::ranges::equal(std::span(items_).subspan(row.items, row.size), items);
  });
  if (found != kNoId) return found;
  Row row{static_cast<uint32_t>(items_.size()), static_cast<uint32_t>(items.size()), predict(items),
          accepts};
  items_.insert(items_.end(), items.begin(), items.end());
  rows_.push_back(row);
  auto id = static_cast<RowId>(rows_.size() - 1);
  row_table_.insert(hash, id);
  return id;
}

void RowStore::place(Item item) {
  const Grammar::Dot& dot = grammar_->dot(item.dot);
  if (dot.next == kNoId) {
    complete(item.lhs, item.origin);
    return;
  }
  item = shortened(item);
  uint64_t hash =
      mix_hash(mix_hash(item.dot, (uint64_t{item.lhs} << 32) | item.origin), item.count);
  if (kernel_table_.find(hash, [&](uint32_t at) { return kernel_[at] == item; }) != kNoId) return;
  if (kernel_.size() == kMaxItems) {
    fail(ErrorCode::kResource, "the grammar is too ambiguous for this text; simplify it");
  }
  kernel_table_.insert(hash, static_cast<uint32_t>(kernel_.size()));
  kernel_.push_back(item);
  bool fills_up = dot.list != kNoId && grammar_->list(dot.list).fills_up;
  if (grammar_->nullable(dot.next) && !fills_up) push_advanced(item);
}

void RowStore::complete(Grammar::SymbolId lhs, RowId origin) {
  if (lhs == grammar_->top()) {
    accepts_ = true;
    return;
  }
  uint64_t hash = mix_hash(lhs, origin);
  std::pair key(lhs, origin);
  if (completed_table_.find(hash, [&](uint32_t at) { return completed_[at] == key; }) != kNoId) {
    return;
  }
  completed_table_.insert(hash, static_cast<uint32_t>(completed_.size()));
  completed_.push_back(key);
  Waiting found = waiting(origin, lhs);
  for (uint32_t i = 0; i < found.size; ++i) push_advanced(waiting_items_[found.items + i]);
}

// Adds the item, moved over the symbol that it expected, to the items that are not in the row yet.
void RowStore::push_advanced(const Item& given) {
  Item item = given;
  const Grammar::Dot& dot = grammar_->dot(item.dot);
  if (dot.list == kNoId) {
    ++item.dot;
    work_.push_back(item);
    return;
  }
  const Grammar::List& list = grammar_->list(dot.list);
  if (item.dot != list.dot) {  // after a separator
    item.dot = list.dot;
    work_.push_back(item);
    return;
  }
  uint64_t count = uint64_t{item.count} + 1;
  if (list.most == kNoLimit) count = std::min(count, list.least);
  if (count >= list.least) work_.push_back({list.dot + 2, item.lhs, item.origin, 0});
  if (list.most == kNoLimit || count < list.most) {
    item.dot = list.separated ? list.dot + 1 : list.dot;
    item.count = static_cast<uint32_t>(count);
    work_.push_back(item);
  }
}

// Returns the item with the rule and row of the outermost rule that its end completes. A rule is
// passed over as long as only one item waits for it, and that item ends with it (Leo's
// optimisation).
RowStore::Item RowStore::shortened(Item item) {
  while (item.lhs != grammar_->top()) {
    Waiting found = waiting(item.origin, item.lhs);
    if (found.size != 1) break;
    const Item& only = waiting_items_[found.items];
    bool same = only.lhs == item.lhs && only.origin == item.origin;
    if (!grammar_->dot(only.dot).last || same) break;
    item.lhs = only.lhs;
    item.origin = only.origin;
  }
  return item;
}

// Returns the items of a row that expect `symbol`.
RowStore::Waiting RowStore::waiting(RowId row, Grammar::SymbolId symbol) {
  uint64_t hash = mix_hash(mix_hash(2, row), symbol);
  uint32_t known = waiting_table_.find(
      hash, [&](uint32_t at) { return waiting_[at].row == row && waiting_[at].symbol == symbol; });
  if (known != kNoId) return waiting_[known];
  Waiting found{row, symbol, static_cast<uint32_t>(waiting_items_.size()), 0};
  const Row& at = rows_[row];
  for (uint32_t i = at.items; i < at.items + at.size; ++i) {
    if (grammar_->dot(items_[i].dot).next == symbol) waiting_items_.push_back(items_[i]);
  }
  const std::vector<Grammar::SymbolId>& rules = predictions_[at.prediction].rules;
  for (const Grammar::Start& start : grammar_->starts(symbol)) {
    Grammar::SymbolId lhs = grammar_->dot(start.dot).lhs;
    if (!std::ranges::binary_search(rules, lhs)) continue;
    waiting_items_.push_back({start.dot, lhs, row, start.count});
  }
  found.size = static_cast<uint32_t>(waiting_items_.size()) - found.items;
  waiting_table_.insert(hash, static_cast<uint32_t>(waiting_.size()));
  waiting_.push_back(found);
  return found;
}

uint32_t RowStore::predict(std::span<const Item> items) {
  std::vector<Grammar::SymbolId> expected;
  for (const Item& item : items) expected.push_back(grammar_->dot(item.dot).next);
  std::ranges::sort(expected);
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  uint64_t hash = 3;
  for (Grammar::SymbolId symbol : expected) hash = mix_hash(hash, symbol);
  uint32_t found = prediction_table_.find(
      hash, [&](uint32_t at) { return predictions_[at].expected == expected; });
  if (found != kNoId) return found;
  predictions_.push_back(make_prediction(std::move(expected)));
  auto number = static_cast<uint32_t>(predictions_.size() - 1);
  prediction_table_.insert(hash, number);
  return number;
}

RowStore::Prediction RowStore::make_prediction(std::vector<Grammar::SymbolId> expected) const {
  Prediction result{.expected = std::move(expected), .rules = {}, .controls = {}};
  std::vector<uint32_t> terminals;
  std::vector<bool> seen(grammar_->symbols());
  std::vector<Grammar::SymbolId> waiting = result.expected;
  while (!waiting.empty()) {
    Grammar::SymbolId symbol = waiting.back();
    waiting.pop_back();
    if (seen[symbol]) continue;
    seen[symbol] = true;
    if (grammar_->is_terminal(symbol)) {
      terminals.push_back(symbol);
    } else if (grammar_->is_control(symbol)) {
      result.controls.push_back(symbol);
    } else {
      result.rules.push_back(symbol);
      std::span<const Grammar::SymbolId> firsts = grammar_->firsts(symbol);
      waiting.insert(waiting.end(), firsts.begin(), firsts.end());
    }
  }
  std::ranges::sort(terminals);
  std::ranges::sort(result.rules);
  std::ranges::sort(result.controls);
  if (!terminals.empty()) result.state = grammar_->lexer().start(terminals);
  return result;
}

std::vector<RowId> RowStore::keep_only(std::vector<bool> keep) {
  keep[kFirst] = true;
  for (RowId row = rows(); row-- > 0;) {
    if (!keep[row]) continue;
    for (uint32_t i = 0; i < rows_[row].size; ++i) keep[items_[rows_[row].items + i].origin] = true;
  }
  std::vector<RowId> numbers(rows_.size(), kNoId);
  std::vector<Row> rows = std::move(rows_);
  std::vector<Item> items = std::move(items_);
  rows_.clear();
  items_.clear();
  row_table_ = {};
  waiting_.clear();
  waiting_.shrink_to_fit();
  waiting_items_.clear();
  waiting_items_.shrink_to_fit();
  waiting_table_ = {};
  for (RowId row = 0; row < rows.size(); ++row) {
    if (!keep[row]) continue;
    numbers[row] = static_cast<RowId>(rows_.size());
    std::span<Item> own = std::span(items).subspan(rows[row].items, rows[row].size);
    for (Item& item : own) item.origin = numbers[item.origin];
    std::ranges::sort(own);
    intern(own, rows[row].accepts);
  }
  return numbers;
}

size_t RowStore::memory() const {
  size_t bytes = rows_.size() * sizeof(Row) + items_.size() * sizeof(Item) +
                 waiting_.size() * sizeof(Waiting) + waiting_items_.size() * sizeof(Item) +
                 row_table_.bytes() + waiting_table_.bytes() + prediction_table_.bytes();
  return bytes + predictions_.size() * sizeof(Prediction);
}

}  // namespace hearth
