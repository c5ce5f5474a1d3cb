// Letters of tasks and areas: what requesters, couplers, workers and the owners of areas say to each other, each one message
// (docs/formats/task.md). Turns a Letter into bytes and back. Above: task. Below: base.
// Invariants: the numbers of the head are little endian; the payload has the byte order of its sender, which the head names;
// nothing of what arrives is used before decode_letter has checked it.
// Tests: tests/unit/wire/test_task_letter.cpp (golden bytes), tests/fuzz/task_letter.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::uint32_t letter_magic = 0x314B5443;  // "CTK1"
inline constexpr std::size_t letter_head_bytes = 56;
inline constexpr std::uint32_t largest_letter_numbers = 65536;
inline constexpr std::uint32_t largest_letter_text = 65536;

enum class LetterKind : std::uint8_t {
  // tasks
  submit = 1,     // requester to coupler
  taken = 2,      // coupler to requester: it is in the queue, or why not
  finished = 3,   // coupler to requester: it is done, or what went wrong
  closed = 4,     // requester to coupler: nothing more will come from here
  hello = 5,      // worker group to coupler
  work = 6,       // coupler to worker group
  done = 7,       // worker group to coupler
  end = 8,        // coupler to worker group: nothing more will come
  goodbye = 9,    // worker group to coupler
  withdraw = 10,  // requester to coupler: not if it waits still
  // areas
  ask = 20,        // opener to owner
  described = 21,  // owner to opener
  unknown = 22,    // owner to opener
  read = 23,       // to the owner
  write = 24,      // to the owner
  served = 25,     // from the owner
};

struct Letter {
  LetterKind kind = LetterKind::submit;
  std::uint64_t space = 0;   // hash of what it concerns: the tasks' name, or areas
  std::uint64_t number = 0;  // of the task or call, given by who began it
  std::int32_t worker = 0;   // worker id; areas: number of the area
  std::int32_t source = 0;   // universe rank that has begun it
  std::int32_t code = 0;     // a couplet_status
  std::int32_t type = 0;     // of the payload, a couplet_type
  std::vector<std::int64_t> numbers;
  std::string text;
  std::string payload;
  bool big_endian = false;  // the payload

  [[nodiscard]] Status status() const { return {static_cast<Code>(code), text}; }
};

[[nodiscard]] std::string encode_letter(const Letter& letter);
// protocol: it makes no sense.
[[nodiscard]] Result<Letter> decode_letter(std::string_view image);

}  // namespace couplet::wire
