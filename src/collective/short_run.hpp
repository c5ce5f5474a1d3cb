// ShortRun: carries out the steps of a call whose messages are all short, in order and without a Call, as long as no
// step has to wait for longer than a blocking receive spins. What is then left is done by an Execution, which takes
// over where this has stopped. Most short calls end here. Collectives owns one.
// Invariant: when run() has returned, nothing of the call is under way but what Progress names.
// Tests: tests/conformance/collective (all calls that are repeated), tests/unit/collective/short_run_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/execution.hpp"

namespace couplet::collective {

class ShortRun {
 public:
  // Longer schedules are carried out by an Execution, whose steps need not wait for each other.
  static constexpr std::size_t max_steps = 64;
  // Longer messages are not taken in whole by one look at the channel.
  static constexpr std::uint64_t max_bytes = 1024;
  // Can the schedule be carried out here?
  [[nodiscard]] static bool fits(const Schedule& schedule, const TypeInfo& type) noexcept;

  // Carries out steps from the first one on. Throws std::bad_alloc before the first step only. REQUIRES: fits().
  Progress run(const Arguments& arguments, const wire::ShortHead& head, const Schedule& schedule,
               const Surroundings& around);

 private:
  // Returns false if the step has to be carried out by an Execution.
  bool carry_out(const Step& step, const Arguments& arguments, const Surroundings& around, Progress& progress);
  bool send(const Step& step, const Surroundings& around);
  bool receive(const Step& step, const Surroundings& around, Progress& progress);

  Spaces spaces_;
  std::vector<std::byte> scratch_;
  std::array<std::byte, wire::short_head_bytes + max_bytes> outgoing_{};  // the head, and the elements of a message
  std::unique_ptr<message::OwnMemory> incoming_;
};

}  // namespace couplet::collective
