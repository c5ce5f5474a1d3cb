// Phased collectives: broadcasts and reductions that move one level of a tree in each round, within the messages of the
// rounds, so that they cost no synchronisation point. They are clients like others, and all ranks of the group have
// them. Regular: one begins every n rounds. Irregular: one begins in each round in which there is something to say, and
// several are under way at a time; what has nothing to say sends an empty part. Tests:
// tests/conformance/coalesce/phased_test.cpp.
// Invariants: a result comes to all its ranks in the same round, however deep they are in the tree; what was given in a
// round is combined in the same order on any run, and with any switches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coalesce/client.hpp"
#include "coalesce/communications.hpp"
#include "coalesce/step_manager.hpp"
#include "coalesce/tree.hpp"
#include "collective/operation.hpp"

namespace couplet::coalesce {

// What both have in common.
struct PhasedOptions {
  std::string name;
  int phase = 0;            // that carries the parts
  std::uint64_t every = 1;  // one may begin in the rounds 0, every, 2 x every, ...
  std::int32_t root = 0;
  int arity = 2;        // children of a rank in the tree
  std::string terms{};  // what all ranks have to give alike besides: "sum of 3 double"
};

// Called in a round in which one may begin. `data` has room for the value; returns whether it gives one.
using Give = std::function<Result<bool>(std::uint64_t round, std::byte* data, std::uint64_t& bytes)>;
// Called with the result, in the round in which all ranks that get it have it. began: the round in which it was
// given. givers: how many ranks have given a value.
using Take =
    std::function<Status(std::uint64_t began, std::uint64_t givers, const std::byte* data, std::uint64_t bytes)>;

// Values under way at one rank, by the round in which they began. A new one overwrites one that is over.
class Slots {
 public:
  Slots(std::uint64_t slot_count, std::uint64_t every, std::uint64_t capacity_bytes);
  struct Slot {
    std::uint64_t givers = 0;  // 0: there is no value
    std::vector<std::byte> data;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Slot& of(std::uint64_t began) { return slots_[began / every_ % slots_.size()]; }

 private:
  std::uint64_t every_;
  std::vector<Slot> slots_;
};

// A part on the way over one edge of the tree: the number of givers, and then the value.
struct Parcel {
  RequestId request = 0;
  std::vector<std::byte> bytes;
};

// A broadcast from the root to all. The value has at most capacity_bytes; each may have another length. All ranks take
// it in the round began + height - 1, or where it began if there is one rank.
class PhasedBroadcast final : public Client {
 public:
  // give: called at the root. manager: outlives it. Declares nothing yet.
  PhasedBroadcast(CommunicationsManager& manager, const PhasedOptions& options, std::uint64_t capacity_bytes, Give give,
                  Take take);
  // Declares its requests as those of the client `place`.
  Status declare(std::size_t place);
  [[nodiscard]] std::string_view name() const noexcept override { return options_.name; }
  [[nodiscard]] Stages stages() const noexcept override { return {.overlap = false, .end_round = false}; }
  Status fill(const Moment& moment) override;
  Status overlap(const Moment& /*moment*/) override { return {}; }
  Status use(const Moment& moment) override;
  Status end_round(std::uint64_t /*round*/) override { return {}; }
  // In how many rounds a value is with all ranks, that in which it began included.
  [[nodiscard]] std::uint64_t latency() const noexcept;

 private:
  CommunicationsManager& manager_;
  PhasedOptions options_;
  std::uint64_t capacity_bytes_;
  Give give_;
  Take take_;
  Tree tree_;
  Slots slots_;
  std::vector<Parcel> outgoing_;
  Parcel incoming_;
};

// A reduction from all ranks to the root, and then back to all if wanted. Values are arrays of elements; a rank that
// gives none is left out. The root takes the result in the round began + height - 1; all ranks do in the round began +
// 2 x height - 1.
class PhasedReduction final : public Client {
 public:
  struct Values {
    couplet_operation operation = COUPLET_OPERATION_SUM;
    couplet_type type = COUPLET_DOUBLE;
    std::uint64_t count = 1;
    bool to_all = false;
  };
  // give: called at each rank. Returns argument or type if the operation is not defined for the type.
  static Result<std::unique_ptr<PhasedReduction>> make(CommunicationsManager& manager, const PhasedOptions& options,
                                                       const Values& values, Give give, Take take);
  Status declare(std::size_t place);
  [[nodiscard]] std::string_view name() const noexcept override { return options_.name; }
  [[nodiscard]] Stages stages() const noexcept override { return {.overlap = false, .end_round = false}; }
  Status fill(const Moment& moment) override;
  Status overlap(const Moment& /*moment*/) override { return {}; }
  Status use(const Moment& moment) override;
  Status end_round(std::uint64_t /*round*/) override { return {}; }

 private:
  PhasedReduction(CommunicationsManager& manager, const PhasedOptions& options, const Values& values, Give give,
                  Take take);
  Status give(std::uint64_t round);
  Status combine(Slots::Slot& slot, Parcel& from);
  Status hand_out(std::uint64_t began, Slots::Slot& slot);

  CommunicationsManager& manager_;
  PhasedOptions options_;
  Values values_;
  Give give_;
  Take take_;
  Tree tree_;
  std::uint64_t bytes_;
  Slots rising_;
  Slots falling_;
  Parcel up_;                  // to the parent
  std::vector<Parcel> rises_;  // from the children
  Parcel down_;                // from the parent
  std::vector<Parcel> falls_;  // to the children
  collective::Operations operations_;
};

// Adds one to a manager, and returns its place. Errors: argument, type, exists, limit.
Result<std::size_t> add_broadcast(StepManager& manager, const PhasedOptions& options, std::uint64_t capacity_bytes,
                                  Give give, Take take);
Result<std::size_t> add_reduction(StepManager& manager, const PhasedOptions& options,
                                  const PhasedReduction::Values& values, Give give, Take take);

}  // namespace couplet::coalesce
