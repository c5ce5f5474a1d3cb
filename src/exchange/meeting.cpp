#include "exchange/meeting.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "os/host.hpp"
#include "wire/fields.hpp"

namespace couplet::exchange {
namespace {

constexpr std::size_t max_member_name_bytes = 256;
constexpr std::size_t max_methods = 256;
constexpr std::size_t max_text_bytes = 4096;
// What the first member has: bits of one byte.
constexpr std::uint8_t has_cache_bit = 1;
constexpr std::uint8_t has_costs_bit = 2;

std::string encode(const Greeting& greeting) {
  wire::FieldWriter writer;
  writer.put(static_cast<std::int32_t>(greeting.status.code()));
  writer.put_text(greeting.status.ok() ? std::string() : greeting.status.text().substr(0, max_text_bytes));
  writer.put(greeting.nonce);
  writer.put_text(greeting.wanted.substr(0, max_member_name_bytes));
  writer.put(static_cast<std::uint32_t>(greeting.neighbors.size()));
  for (const std::int32_t rank : greeting.neighbors) writer.put(rank);
  writer.put(static_cast<std::uint32_t>(greeting.methods.size()));
  for (const std::string& name : greeting.methods) writer.put_text(name.substr(0, max_member_name_bytes));
  writer.put_text(greeting.machine.substr(0, max_member_name_bytes));
  writer.put(greeting.node);
  writer.put(greeting.max_bytes);
  writer.put(std::uint8_t{greeting.is_paired});
  writer.put(
      static_cast<std::uint8_t>((greeting.has_cache ? has_cache_bit : 0U) | (greeting.has_costs ? has_costs_bit : 0U)));
  return writer.take();
}

Result<Greeting> decode(std::string_view text, std::size_t size) {
  wire::FieldReader reader(text, "a greeting of an exchange");
  Greeting greeting;
  const auto code = reader.take<std::int32_t>("code", std::numeric_limits<std::int32_t>::min(), 0);
  std::string why = reader.take_text("text", max_text_bytes);
  const bool is_known = std::string_view(code_name(code)) != "unknown";
  if (code != 0) greeting.status = {is_known ? static_cast<Code>(code) : Code::protocol, std::move(why)};
  greeting.nonce = reader.take<std::uint64_t>("nonce");
  greeting.wanted = reader.take_text("method", max_member_name_bytes);
  const std::size_t neighbors = reader.take_count("number of neighbours", size, sizeof(std::int32_t));
  for (std::size_t index = 0; index < neighbors; ++index) {
    greeting.neighbors.push_back(reader.take<std::int32_t>("neighbour", 0, static_cast<std::int32_t>(size) - 1));
  }
  const std::size_t methods = reader.take_count("number of methods", max_methods, sizeof(std::uint16_t));
  for (std::size_t index = 0; index < methods; ++index) {
    greeting.methods.push_back(reader.take_text("name of a method", max_member_name_bytes));
  }
  greeting.machine = reader.take_text("machine", max_member_name_bytes);
  greeting.node = reader.take<std::uint64_t>("node");
  greeting.max_bytes = reader.take<std::uint64_t>("longest message");
  greeting.is_paired = reader.take<std::uint8_t>("paired", 0, 1) == 1;
  const unsigned has = reader.take<std::uint8_t>("cache and costs", 0, has_cache_bit | has_costs_bit);
  greeting.has_cache = (has & has_cache_bit) != 0;
  greeting.has_costs = (has & has_costs_bit) != 0;
  COUPLET_TRY(reader.finish());
  return greeting;
}

// The boot id is that of the machine also in a container, whose host name may be anything.
std::uint64_t node_number() {
  return std::hash<std::string>()(os::boot_id() + os::host_name());
}

std::string machine_of(std::span<Maker* const> makers) {
  std::string machine = fmt::format("{}, {} cores", os::processor_name(), os::usable_cores());
  for (const Maker* const maker : makers) {
    if (maker->substrate().empty()) continue;
    machine += fmt::format(", {}", maker->substrate());
    break;
  }
  return machine;
}

}  // namespace

Result<Greeting> greeting_of(const Status& status, const Routes& routes, std::span<Maker* const> makers,
                             const std::string& wanted, bool has_cache, bool has_costs) {
  Greeting greeting;
  greeting.status = status;
  COUPLET_TRY_VALUE(greeting.nonce, os::random_bits());
  greeting.wanted = wanted;
  for (const Port& port : routes.ports) {
    greeting.neighbors.push_back(port.peer);
    greeting.max_bytes = std::max({greeting.max_bytes, port.out_bytes, port.in_bytes});
    greeting.is_paired = greeting.is_paired && port.is_paired;
  }
  greeting.machine = machine_of(makers);
  greeting.node = node_number();
  greeting.has_cache = has_cache;
  greeting.has_costs = has_costs;
  for (const Maker* const maker : makers) greeting.methods.emplace_back(maker->name());
  return greeting;
}

Result<RollCall> call_roll(Talk& talk, const Greeting& own, std::int32_t rank) {
  COUPLET_TRY_VALUE(const auto texts, talk.gather(encode(own)));
  COUPLET_TRY(Status(own.status));
  RollCall all;
  Situation& situation = all.situation;
  std::map<std::uint64_t, std::uint32_t> node_ranks;
  std::set<std::int32_t> neighbors(own.neighbors.begin(), own.neighbors.end());
  for (std::size_t member = 0; member < texts.size(); ++member) {
    COUPLET_TRY_VALUE(const Greeting greeting, decode(texts[member], texts.size()));
    if (!greeting.status.ok()) return greeting.status.within(fmt::format("rank {}", member));
    if (greeting.wanted != own.wanted) {
      return fail(Code::mismatch, "rank {} wants the method '{}', and rank {} the method '{}'", rank, own.wanted,
                  member, greeting.wanted);
    }
    if (member == 0) {
      all.epoch = greeting.nonce;
      all.has_cache = greeting.has_cache;
      all.has_costs = greeting.has_costs;
      situation.machine = greeting.machine;
      situation.methods = greeting.methods;
    }
    situation.node_ranks = std::max(situation.node_ranks, ++node_ranks[greeting.node]);
    situation.neighbors = std::max(situation.neighbors, static_cast<std::uint32_t>(greeting.neighbors.size()));
    situation.is_paired = situation.is_paired && greeting.is_paired;
    all.max_bytes = std::max(all.max_bytes, greeting.max_bytes);
    std::erase_if(situation.methods, [&](const std::string& name) {
      return std::find(greeting.methods.begin(), greeting.methods.end(), name) == greeting.methods.end();
    });
    const auto& theirs = greeting.neighbors;
    const bool has_edge = std::find(theirs.begin(), theirs.end(), rank) != theirs.end();
    if (has_edge && static_cast<std::int32_t>(member) != rank) neighbors.insert(static_cast<std::int32_t>(member));
  }
  situation.size_class = static_cast<std::uint32_t>(std::bit_width(all.max_bytes));
  all.neighbors.assign(neighbors.begin(), neighbors.end());
  return all;
}

Status compare_with_neighbors(Talk& talk, std::span<const std::int32_t> neighbors, std::span<const Edge> edges,
                              std::int32_t rank, const std::function<std::string(std::int32_t)>& name_of) {
  std::vector<wire::ExchangeTerms> own;
  std::vector<std::string> texts;
  for (const std::int32_t peer : neighbors) {
    own.push_back(terms_with(edges, peer));
    texts.push_back(wire::encode_exchange_terms(own.back()));
  }
  const auto answers = talk.swap(texts);
  Status first = answers.status();
  for (std::size_t index = 0; first.ok() && index < neighbors.size(); ++index) {
    const auto theirs = wire::decode_exchange_terms(answers->at(index));
    first = theirs.ok() ? compare_terms(own[index], rank, *theirs, neighbors[index], name_of) : theirs.status();
  }
  return talk.agree(first);
}

}  // namespace couplet::exchange
