// The messages of tasks and areas, which requesters, couplers, workers and owners of areas send to each other; each is
// one message (docs/formats/task.md). It turns a TaskMessage into bytes and back. task includes it; it includes base.
// Invariants: the numbers of the head are little endian; the payload has the byte order of its sender, which the head
// names; nothing that arrives is used before decode_task_message has checked it.
// Tests: tests/unit/wire/task_message_test.cpp (golden bytes), tests/fuzz/task_message.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::uint32_t task_message_magic = 0x314B5443;  // "CTK1"
inline constexpr std::size_t task_message_head_bytes = 56;
inline constexpr std::uint32_t largest_task_message_numbers = 65536;
inline constexpr std::uint32_t largest_task_message_text = 65536;
// With the largest text and most numbers, such a message is one that receivers make room for.
inline constexpr std::uint64_t largest_task_message_payload = (std::uint64_t{1} << 30) - (std::uint64_t{1} << 20);

enum class TaskMessageKind : std::uint8_t {
  // Messages of tasks.
  submit = 1,     // requester to coupler
  taken = 2,      // coupler to requester: the request is in the queue, or why not
  finished = 3,   // coupler to requester: the task is done, or what went wrong
  closed = 4,     // requester to coupler: nothing further comes
  hello = 5,      // worker group to coupler
  work = 6,       // coupler to worker group
  done = 7,       // worker group to coupler
  end = 8,        // coupler to worker group: nothing further comes
  goodbye = 9,    // worker group to coupler
  withdraw = 10,  // requester to coupler: withdraw the request if it still waits
  heard = 11,     // coupler to requester: the withdrawal has come
  opened = 12,    // rank of a worker group to coupler: these ranks had opened the tasks
  // Messages of areas.
  ask = 20,        // opener to owner
  described = 21,  // owner to opener
  unknown = 22,    // owner to opener
  read = 23,       // to the owner
  write = 24,      // to the owner
  served = 25,     // from the owner
};

struct TaskMessage {
  TaskMessageKind kind = TaskMessageKind::submit;
  std::uint64_t space = 0;   // hash of the tasks' name, or of the areas
  std::uint64_t number = 0;  // number of the task or call, chosen by the process that began it
  std::int32_t worker = 0;   // worker id; for areas the number of the area
  std::int32_t source = 0;   // universe rank that began the task or call
  std::int32_t code = 0;     // a couplet_status
  std::int32_t type = 0;     // couplet_type of the payload
  std::vector<std::int64_t> numbers;
  std::string text;
  std::string payload;
  bool big_endian = false;  // byte order of the payload

  [[nodiscard]] Status status() const { return {static_cast<Code>(code), text}; }
};

// A text is cut to what a message can hold. Texts are for people, so that is no loss of data.
[[nodiscard]] std::string encode_task_message(const TaskMessage& message);
// Returns protocol if a value is out of range.
[[nodiscard]] Result<TaskMessage> decode_task_message(std::string_view image);

}  // namespace couplet::wire
