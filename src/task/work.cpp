#include "task/work.hpp"

#include "base/counted.hpp"
#include "base/swap.hpp"
#include "base/types.hpp"
#include "layout/type_handles.hpp"
#include "wire/message.hpp"

namespace couplet::task {

Status check_content(const Content& content, std::int32_t worker, std::string_view what) {
  const TypeInfo* type = find_type(content.type);
  if (type == nullptr) {
    return fail(Code::type, "{}: {}", what, layout::why_no_element(content.type));
  }
  if (content.parameters.size() > most_parameters) {
    return fail(Code::limit, "{}: {} parameters are given, at most {} are possible", what, content.parameters.size(),
                most_parameters);
  }
  if (content.payload == nullptr && content.count > 0) {
    return fail(Code::argument, "{}: payload is NULL, but its count is {}", what, content.count);
  }
  if (content.count > wire::largest_task_message_payload / type->element_bytes) {
    return fail(
        Code::limit,
        "{}: the payload has {} elements of {} bytes, which is more than the {} bytes that a task can have: use "
        "a series or an area",
        what, content.count, type->element_bytes, wire::largest_task_message_payload);
  }
  return check_worker(worker, what);
}

Status check_worker(std::int32_t worker, std::string_view what) {
  return worker >= any_worker
             ? Status()
             : fail(Code::argument, "{}: {} is no worker id; they are numbers from 0 on, and -1 stands for any", what,
                    worker);
}

void set_content(wire::TaskMessage& message, const Content& content) {
  message.numbers.assign(content.parameters.begin(), content.parameters.end());
  message.type = content.type;
  message.payload.assign(static_cast<const char*>(content.payload),
                         content.count * find_type(content.type)->element_bytes);
  message.big_endian = wire::own_big_endian;
}

void own_byte_order(wire::TaskMessage& message) {
  if (message.big_endian != wire::own_big_endian) {
    swap_numbers(reinterpret_cast<std::byte*>(message.payload.data()), message.payload.size(),
                 find_type(message.type)->swap_bytes);
    message.big_endian = wire::own_big_endian;
  }
}

Incoming view_of(const wire::TaskMessage& message, std::uint64_t id) {
  const std::uint64_t count = message.payload.size() / find_type(message.type)->element_bytes;
  return {id,    message.source, message.worker, message.numbers, count > 0 ? message.payload.data() : nullptr,
          count, message.type};
}

Status check_expectation(const Incoming& incoming, const Expectation& expected) {
  if (expected.parameters >= 0 && static_cast<std::uint64_t>(expected.parameters) != incoming.parameters.size()) {
    return fail(Code::argument, "the request has {}, the worker expects {}",
                counted(incoming.parameters.size(), "parameter"), expected.parameters);
  }
  if (expected.type >= 0 && expected.type != incoming.type && (incoming.count > 0 || expected.count > 0)) {
    const TypeInfo* wanted = find_type(expected.type);
    return fail(Code::type, "the request's payload has elements of type {}, the worker expects {}",
                find_type(incoming.type)->name,
                wanted == nullptr ? layout::why_no_element(expected.type) : std::string(wanted->name));
  }
  if (expected.count >= 0 && static_cast<std::uint64_t>(expected.count) != incoming.count) {
    return fail(Code::shape, "the request's payload has {}, the worker expects {}", counted(incoming.count, "element"),
                expected.count);
  }
  return {};
}

Result<const universe::ProgramInfo*> find_program(const Environment& environment, std::string_view name) {
  std::string known;
  for (const auto& program : environment.programs()) {
    if (program.name == name) {
      return &program;
    }
    known += (known.empty() ? "'" : ", '") + program.name + "'";
  }
  return fail(Code::not_found, "no program '{}' in this universe; it has {}", name, known);
}

std::vector<channel::PeerId> ranks_of(const universe::ProgramInfo& program) {
  std::vector<channel::PeerId> ranks;
  ranks.reserve(static_cast<std::size_t>(program.size));
  for (std::int32_t rank = 0; rank < program.size; ++rank) {
    ranks.push_back(static_cast<channel::PeerId>(program.first_rank + rank));
  }
  return ranks;
}

}  // namespace couplet::task
