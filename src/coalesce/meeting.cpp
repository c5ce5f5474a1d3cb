#include "coalesce/meeting.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "wire/fields.hpp"

namespace couplet::coalesce {
namespace {

constexpr std::size_t max_text_bytes = 4096;

// Which client comes before which. Clients are numbered in the order in which they appear, rank by rank.
class Orders {
 public:
  explicit Orders(std::span<const Registration> all);
  // Adds the order of one rank. mismatch: an earlier rank has another one.
  Status add(const std::vector<std::string>& clients, std::size_t rank);
  [[nodiscard]] std::size_t count() const noexcept { return names_.size(); }
  [[nodiscard]] const std::string& name(std::size_t client) const { return *names_[client]; }
  [[nodiscard]] bool is_before(std::size_t one, std::size_t other) const noexcept { return at(one, other) != nobody; }

 private:
  static constexpr std::uint32_t nobody = UINT32_MAX;
  [[nodiscard]] std::uint32_t at(std::size_t one, std::size_t other) const { return first_[one * count() + other]; }

  std::map<std::string_view, std::size_t> numbers_;
  std::vector<const std::string*> names_;
  std::vector<std::uint32_t> first_;                      // the first rank that has one client before another
  const std::vector<std::string>* last_added_ = nullptr;  // most ranks have the same list
};

Orders::Orders(std::span<const Registration> all) {
  for (const Registration& one : all) {
    for (const std::string& name : one.clients) {
      if (numbers_.emplace(name, names_.size()).second) names_.push_back(&name);
    }
  }
  first_.assign(count() * count(), nobody);
}

Status Orders::add(const std::vector<std::string>& clients, std::size_t rank) {
  if (last_added_ != nullptr && *last_added_ == clients) return {};
  std::vector<std::size_t> numbers;
  numbers.reserve(clients.size());
  for (const std::string& client : clients) numbers.push_back(numbers_.at(client));
  for (std::size_t one = 0; one < numbers.size(); ++one) {
    for (std::size_t two = one + 1; two < numbers.size(); ++two) {
      if (const std::uint32_t other = at(numbers[two], numbers[one]); other != nobody) {
        return fail(
            Code::mismatch,
            "rank {} has registered client '{}' before '{}', and rank {} has registered '{}' before '{}': the order "
            "must be the same",
            other, clients[two], clients[one], rank, clients[one], clients[two]);
      }
      std::uint32_t& first = first_[numbers[one] * count() + numbers[two]];
      if (first == nobody) first = static_cast<std::uint32_t>(rank);
    }
  }
  last_added_ = &clients;
  return {};
}

Status compare_settings(const Registration& first, const Registration& other, std::size_t rank) {
  const auto differ = [rank](std::string_view what, auto one, auto two) {
    return fail(Code::mismatch, "rank 0 has {} {}, and rank {} has {}", what, one, rank, two);
  };
  if (first.from_round != other.from_round) return differ("the first round", first.from_round, other.from_round);
  if (first.phase_count != other.phase_count)
    return differ("the number of phases", first.phase_count, other.phase_count);
  if (first.merges_waits != other.merges_waits) return differ("merge_waits", first.merges_waits, other.merges_waits);
  if (first.merges_messages != other.merges_messages) {
    return differ("merge_messages", first.merges_messages, other.merges_messages);
  }
  return {};
}

}  // namespace

std::string encode(const Registration& own) {
  wire::FieldWriter writer;
  writer.put(static_cast<std::int32_t>(own.status.code()));
  writer.put_text(own.status.ok() ? std::string() : own.status.text().substr(0, max_text_bytes));
  writer.put(own.from_round);
  writer.put(own.phase_count);
  writer.put(own.merges_waits);
  writer.put(own.merges_messages);
  writer.put(static_cast<std::uint32_t>(own.clients.size()));
  for (const std::string& name : own.clients) writer.put_text(name);
  return writer.take();
}

Result<Registration> decode(std::string_view text) {
  wire::FieldReader reader(text, "a registration of clients");
  Registration one;
  const auto code = reader.take<std::int32_t>("code", std::numeric_limits<std::int32_t>::min(), 0);
  std::string why = reader.take_text("text", max_text_bytes);
  const bool is_known = std::string_view(code_name(code)) != "unknown";
  if (code != 0) one.status = {is_known ? static_cast<Code>(code) : Code::protocol, std::move(why)};
  one.from_round = reader.take<std::uint64_t>("first round");
  one.phase_count = reader.take<std::int32_t>("number of phases", 1, max_phases);
  one.merges_waits = reader.take_flag("merge_waits");
  one.merges_messages = reader.take_flag("merge_messages");
  const std::size_t count = reader.take_count("number of clients", max_clients, sizeof(std::uint16_t));
  for (std::size_t index = 0; index < count; ++index) {
    one.clients.push_back(reader.take_text("name of a client", max_client_name_bytes));
  }
  COUPLET_TRY(reader.finish());
  return one;
}

Result<std::vector<std::string>> common_order(std::span<const Registration> all) {
  Orders orders(all);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].status.ok()) return all[rank].status.within(fmt::format("rank {}", rank));
    COUPLET_TRY(compare_settings(all.front(), all[rank], rank));
    COUPLET_TRY(orders.add(all[rank].clients, rank));
  }
  std::vector<std::size_t> left(orders.count());  // in order of appearance
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<std::string> order;
  while (!left.empty()) {
    const auto is_first = [&](std::size_t one) {
      return std::none_of(left.begin(), left.end(), [&](std::size_t other) { return orders.is_before(other, one); });
    };
    const auto next = std::find_if(left.begin(), left.end(), is_first);
    if (next == left.end()) {
      std::vector<std::string> names;
      names.reserve(left.size());
      for (const std::size_t one : left) names.push_back(orders.name(one));
      return fail(Code::mismatch, "no order of the clients '{}' is that of registration on all ranks",
                  fmt::join(names, "', '"));
    }
    order.push_back(orders.name(*next));
    left.erase(next);
  }
  return order;
}

}  // namespace couplet::coalesce
