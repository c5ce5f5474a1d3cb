// One member of a collective call, for tests with a thread for each member.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collective/collective.hpp"
#include "support/parties.hpp"

namespace couplet::collective {

using cost::Collective;
using cost::Method;
using test::LaneKind;
using test::Parties;
using test::Party;

// What is left of a failed call is given back when the channels of a party end, which is after its thread has ended.
inline void bury(std::unique_ptr<Collectives> calls) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<Collectives>> buried;
  const std::lock_guard lock(mutex);
  buried.push_back(std::move(calls));
}

// One member, as a test uses it.
struct Member {
  Party& party;
  std::unique_ptr<Collectives> own;
  Collectives& calls;

  explicit Member(Party& one, int systems = 1) : Member(one, facts(systems)) {}
  Member(Party& one, PeerFacts known)
      : party(one),
        own(std::make_unique<Collectives>(*one.messenger, one.engine.get(), std::move(known))),
        calls(*own) {}
  ~Member() {
    calls.shut();
    bury(std::move(own));
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  static PeerFacts facts(int systems) {
    return {.system_of = [systems](channel::PeerId peer) { return peer % static_cast<std::uint32_t>(systems); },
            .membership = {}};
  }
  [[nodiscard]] int rank() const { return party.rank(); }
  Status run(const Arguments& arguments) { return calls.run(party.group(), arguments); }
};

inline Arguments barrier() {
  return {.timeout_s = 30};
}
template <typename T>
Arguments broadcast(std::vector<T>& data, couplet_type type, std::int32_t root) {
  return {.kind = Collective::broadcast,
          .type = type,
          .root = root,
          .count = data.size(),
          .output = data.data(),
          .timeout_s = 30};
}
template <typename T>
Arguments allreduce(const std::vector<T>& data, std::vector<T>& result, couplet_type type,
                    couplet_operation operation = COUPLET_OPERATION_SUM) {
  return {.kind = Collective::allreduce,
          .type = type,
          .operation = operation,
          .count = data.size(),
          .input = data.data(),
          .output = result.data(),
          .timeout_s = 30};
}

}  // namespace couplet::collective
