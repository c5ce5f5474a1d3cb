// The parts of tasks, for all three roles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "task/mailbox.hpp"

namespace couplet::task {

inline constexpr std::int32_t any_worker = -1;
inline constexpr std::size_t most_parameters = 4096;
inline constexpr std::uint64_t no_number = ~std::uint64_t{0};

// The parameters and the payload of a request, in the caller's memory.
struct Content {
  std::span<const std::int64_t> parameters;
  const void* payload = nullptr;
  std::uint64_t count = 0;
  couplet_type type = COUPLET_BYTE;
};
// Returns type; limit if there are too many parameters or bytes; or argument if the payload has no memory or the worker
// id is out of range.
[[nodiscard]] Status check_content(const Content& content, std::int32_t worker, std::string_view what);
// Returns argument unless it is any_worker or may be a worker id.
[[nodiscard]] Status check_worker(std::int32_t worker, std::string_view what);
void set_content(wire::TaskMessage& message, const Content& content);
// Converts the payload to this host's byte order.
void own_byte_order(wire::TaskMessage& message);

// A task that a coupler or a worker has taken. Its memory belongs to the task message in which it came.
struct Incoming {
  std::uint64_t id = no_number;  // the coupler's number of the task
  std::int32_t source = 0;       // the universe rank of the requester
  std::int32_t worker = any_worker;
  std::span<const std::int64_t> parameters;
  const void* payload = nullptr;
  std::uint64_t count = 0;
  couplet_type type = COUPLET_BYTE;
};
[[nodiscard]] Incoming view_of(const wire::TaskMessage& message, std::uint64_t id);

// What a worker expects of a task. -1 accepts anything.
struct Expectation {
  std::int64_t parameters = -1;
  std::int64_t count = -1;
  couplet_type type = -1;
};
// Returns argument, type or shape, with what came and what was expected.
[[nodiscard]] Status check_expectation(const Incoming& incoming, const Expectation& expected);

// Returns the ranks of a program, or not_found, which names the existing programs.
[[nodiscard]] Result<const universe::ProgramInfo*> find_program(const Environment& environment, std::string_view name);
[[nodiscard]] std::vector<channel::PeerId> ranks_of(const universe::ProgramInfo& program);

}  // namespace couplet::task
