#include "coalesce/meeting.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "wire/fields.hpp"

namespace couplet::coalesce {
namespace {

constexpr std::size_t max_text_bytes = 4096;

// Which client comes before which, as the first rank that has both says it.
using Orders = std::map<std::pair<std::string, std::string>, std::size_t>;

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

// Adds the order of one rank.
Status add_order(Orders& orders, const std::vector<std::string>& clients, std::size_t rank) {
  for (std::size_t one = 0; one < clients.size(); ++one) {
    for (std::size_t two = one + 1; two < clients.size(); ++two) {
      orders.try_emplace({clients[one], clients[two]}, rank);
      const auto other = orders.find({clients[two], clients[one]});
      if (other == orders.end()) continue;
      return fail(
          Code::mismatch,
          "rank {} has registered client '{}' before '{}', and rank {} has registered '{}' before '{}': the order "
          "must be the same",
          other->second, clients[two], clients[one], rank, clients[one], clients[two]);
    }
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
  Orders orders;
  std::vector<std::string> left;  // in order of appearance
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].status.ok()) return all[rank].status.within(fmt::format("rank {}", rank));
    COUPLET_TRY(compare_settings(all.front(), all[rank], rank));
    COUPLET_TRY(add_order(orders, all[rank].clients, rank));
    for (const std::string& name : all[rank].clients) {
      if (std::find(left.begin(), left.end(), name) == left.end()) left.push_back(name);
    }
  }
  std::vector<std::string> order;
  while (!left.empty()) {
    const auto is_first = [&](const std::string& name) {
      return std::none_of(left.begin(), left.end(), [&](const std::string& other) {
        return orders.contains({other, name});
      });
    };
    const auto next = std::find_if(left.begin(), left.end(), is_first);
    if (next == left.end()) {
      return fail(Code::mismatch, "no order of the clients '{}' is that of registration on all ranks",
                  fmt::join(left, "', '"));
    }
    order.push_back(std::move(*next));
    left.erase(next);
  }
  return order;
}

}  // namespace couplet::coalesce
