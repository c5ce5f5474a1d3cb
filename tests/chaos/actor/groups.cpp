#include "groups.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "contents.hpp"

namespace chaos {
namespace {

constexpr std::uint64_t rounds_between_agreements = 4;

// What a member gives to the first call of each few: from which round on it can go on, and whether it wants to end.
struct Agreement {
  std::uint64_t label = 0, round = 0, wants_end = 0;
};

std::string label_seen(const MessageLabel& label) {
  return piece("[%llu,%llu,%llu]", static_cast<unsigned long long>(label.sender),
               static_cast<unsigned long long>(label.life), static_cast<unsigned long long>(label.sequence));
}

// Describes what came from each member: blocks of `words` words, each of which begins with a label.
std::string describe_blocks(const std::vector<std::uint64_t>& data, std::uint64_t words, std::uint64_t seed) {
  std::string seen;
  std::uint64_t wrong = 0;
  for (std::uint64_t first = 0; first < data.size(); first += words) {
    MessageLabel label;
    wrong += label.decode(data[first]) ? 0 : 1;
    for (std::uint64_t place = 1; place < words; ++place) {
      wrong += data[first + place] != MessageLabel::follows(seed, data[first], place) ? 1 : 0;
    }
    seen += (seen.empty() ? "" : ",") + label_seen(label);
  }
  return ",\"seen\":[" + seen + piece("],\"wrong\":%llu", static_cast<unsigned long long>(wrong));
}

// "g0:a/0,b/0;g1:b/0,c/0": names of groups, and their members.
std::vector<std::pair<std::string, std::string>> groups_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream groups(text);
  for (std::string group; std::getline(groups, group, ';');) {
    const auto colon = group.find(':');
    found.emplace_back(group.substr(0, colon), group.substr(colon + 1));
  }
  return found;
}

}  // namespace

// False: a rank is not known, or the group cannot be made.
bool Groups::make_group(couplet_universe* universe, const std::string& members, const std::string& name,
                        Circle& circle) {
  std::vector<std::int32_t> ranks;
  std::istringstream all(members);
  circle.own = -1;
  for (std::string member; std::getline(all, member, ',');) {
    const auto slash = member.find('/');
    const std::string program = member.substr(0, slash);
    const std::int32_t rank = std::atoi(member.c_str() + slash + 1);
    if (program == self_.program && rank == self_.rank) {
      circle.own = static_cast<std::int32_t>(ranks.size());
    }
    ranks.push_back(-1);
    if (couplet_universe_find_rank(universe, program.c_str(), rank, &ranks.back()) != COUPLET_OK) {
      return false;
    }
  }
  circle.size = ranks.size();
  if (circle.own < 0) {
    return false;
  }
  history_.begin("make_group", piece(",\"k\":\"%s\"", name.c_str()));
  const auto count = static_cast<std::int32_t>(ranks.size());
  return history_.end(couplet_group_create(universe, name.c_str(), ranks.data(), count, &circle.group)) == COUPLET_OK;
}

// Makes the next call of the group. Which one it is depends on the round, so that all members make the same.
couplet_status Groups::meet_once(const std::string& name, Circle& circle, const Action& action, bool wants_end) {
  couplet_collective_options options;
  couplet_collective_options_init(&options);
  options.timeout_s = action.real("timeout", 5);
  const MessageLabel label{self_.number, self_.life, circle.round, false};
  const std::uint64_t words = std::max<std::uint64_t>(action.count("words", 8), 1);
  const auto root = static_cast<std::int32_t>(circle.round % circle.size);
  static const char* const kinds[] = {"barrier", "broadcast", "gather", "reduce"};
  const char* const kind = circle.agreed ? kinds[mix(self_.seed ^ circle.round) % 4] : "agree";
  std::vector<std::uint64_t> own(words, label.word());
  for (std::uint64_t place = 1; place < words; ++place) {
    own[place] = MessageLabel::follows(self_.seed, own[0], place);
  }
  const Agreement offer{label.word(), circle.round, wants_end ? 1U : 0U};
  std::vector<Agreement> offers(circle.size);
  std::vector<std::uint64_t> all(circle.size * (*kind == 'g' ? words : 1));
  if (*kind == 'r') {
    all[static_cast<std::size_t>(circle.own)] = own[0];
  }
  history_.begin("group_call",
                 piece(",\"k\":\"%s\",\"kind\":\"%s\",\"round\":%llu,\"root\":%d,\"timeout\":%.3f", name.c_str(), kind,
                       static_cast<unsigned long long>(circle.round), root, options.timeout_s));
  couplet_status status = COUPLET_OK;
  if (*kind == 'a') {
    status = couplet_allgather(circle.group, &offer, 3, offers.data(), COUPLET_UINT64, &options);
    for (std::size_t member = 0; member < offers.size(); ++member) {
      all[member] = offers[member].label;
    }
  } else if (*kind == 'g') {
    status = couplet_allgather(circle.group, own.data(), words, all.data(), COUPLET_UINT64, &options);
  } else if (*kind == 'r') {
    status = couplet_allreduce(circle.group, all.data(), all.data(), all.size(), COUPLET_UINT64,
                               COUPLET_OPERATION_BITWISE_OR, &options);
  } else if (kind == kinds[1]) {
    if (root != circle.own) {
      std::fill(own.begin(), own.end(), 0);
    }
    status = couplet_broadcast(circle.group, own.data(), words, COUPLET_UINT64, root, &options);
    all = own;
  } else {
    status = couplet_barrier(circle.group, &options);
    all.clear();
  }
  const std::uint64_t block = *kind == 'g' || kind == kinds[1] ? words : 1;
  history_.end(status, status == COUPLET_OK ? describe_blocks(all, block, self_.seed) : "");
  circle.round += circle.agreed ? 1 : 0;
  circle.agreed = status == COUPLET_OK && (!circle.agreed || circle.round % rounds_between_agreements != 0);
  if (status == COUPLET_OK && *kind == 'a') {
    for (const Agreement& each : offers) {
      circle.round = std::max(circle.round, each.round);
      circle.ends = circle.ends || each.wants_end != 0;
    }
  }
  return status;
}

void Groups::meet(couplet_universe* universe, const Action& action) {
  const auto groups = groups_of(action.text("groups"));
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  const auto seconds_since = [](std::uint64_t since) {
    return static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - since) / 1e9;
  };
  std::uint64_t progress = begun;
  for (const auto& each : groups) {
    circles_[each.first].ends = false;
  }
  const Circle& first = circles_[groups.front().first];
  while (!first.ends && seconds_since(progress) < action.real("patience", 15)) {
    const bool is_over = seconds_since(begun) > action.real("seconds", 5);
    if (is_over && !action.has("together")) {
      break;
    }
    for (const auto& [name, members] : groups) {
      Circle& circle = circles_[name];
      if (circle.group == nullptr && !make_group(universe, members, name, circle)) {
        continue;
      }
      const auto status = meet_once(name, circle, action, is_over);
      if (status == COUPLET_OK) {
        progress = nanoseconds(CLOCK_MONOTONIC);
      } else if (!action.has("keep") || status == COUPLET_ERROR_PEER_LOST || status == COUPLET_ERROR_MISMATCH) {
        couplet_group_free(circle.group);
        circle.group = nullptr;
        circle.agreed = false;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(action.whole("pause_us", 1000)));
  }
}

}  // namespace chaos
