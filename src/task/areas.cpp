// The areas of a process: creates, finds and serves them.
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/swap.hpp"
#include "base/types.hpp"
#include "layout/type_handles.hpp"
#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/process_memory.hpp"
#include "task/area.hpp"
#include "wire/message.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

namespace {

constexpr std::size_t longest_name = 255;
// The entries of TaskMessage::numbers of `described`, which say where the area is.
enum Described : std::size_t { stamped, process, address, nonce_address, nonce, node, incarnation, shape_start };
// The entries of TaskMessage::numbers of `read` and `write`: a box as start and stop; or by_offset, offset, count.
constexpr std::int64_t by_offset = -1;

std::uint64_t make_nonce(const void* where) {
  const std::array<std::uint64_t, 3> seed = {os::now_ns(), static_cast<std::uint64_t>(::getpid()),
                                             reinterpret_cast<std::uintptr_t>(where)};
  return XXH3_64bits(seed.data(), sizeof seed) | 1;
}

std::vector<std::int64_t> encode_part(const Part& part) {
  if (!part.box) {
    return {by_offset, static_cast<std::int64_t>(part.offset), static_cast<std::int64_t>(part.count)};
  }
  std::vector<std::int64_t> numbers;
  const auto dimensions = static_cast<std::size_t>(part.box->dimensions);
  numbers.push_back(part.box->dimensions);
  numbers.insert(numbers.end(), part.box->start.begin(), part.box->start.begin() + static_cast<long>(dimensions));
  numbers.insert(numbers.end(), part.box->stop.begin(), part.box->stop.begin() + static_cast<long>(dimensions));
  return numbers;
}

Result<Part> decode_part(const std::vector<std::int64_t>& numbers) {
  Part part;
  if (numbers.size() == 3 && numbers[0] == by_offset && numbers[1] >= 0 && numbers[2] >= 0) {
    part.offset = static_cast<std::uint64_t>(numbers[1]);
    part.count = static_cast<std::uint64_t>(numbers[2]);
    return part;
  }
  if (numbers.empty() || numbers[0] < 1 || numbers[0] > layout::max_dimensions ||
      numbers.size() != 1 + 2 * static_cast<std::size_t>(numbers[0])) {
    return fail(Code::protocol, "an impossible part of an area was requested");
  }
  part.box.emplace();
  part.box->dimensions = static_cast<int>(numbers[0]);
  std::copy_n(numbers.begin() + 1, numbers[0], part.box->start.begin());
  std::copy_n(numbers.begin() + 1 + numbers[0], numbers[0], part.box->stop.begin());
  return part;
}

std::string file_prefix(channel::PeerId owner) {
  return fmt::format("area-{:08x}-", owner);
}

Status check(const AreaSpecification& wanted) {
  if (wanted.name.empty() || wanted.name.size() > longest_name) {
    return fail(Code::argument, "an area needs a name of 1 to {} bytes, not {}", longest_name, wanted.name.size());
  }
  if (find_type(wanted.type) == nullptr) {
    return fail(Code::type, "area '{}': {}", wanted.name, layout::why_no_element(wanted.type));
  }
  if (wanted.shape.empty() || wanted.shape.size() > layout::max_dimensions ||
      std::any_of(wanted.shape.begin(), wanted.shape.end(), [](std::int64_t extent) { return extent < 0; })) {
    return fail(Code::shape, "area '{}': its shape is ({}); 1 to {} extents, none negative, are needed", wanted.name,
                fmt::join(wanted.shape, ", "), layout::max_dimensions);
  }
  const auto bytes = layout::box_bytes(layout::whole(wanted.shape), find_type(wanted.type)->element_bytes);
  return bytes ? Status() : bytes.status().within(fmt::format("area '{}'", wanted.name));
}

}  // namespace

Areas::Areas(Mailbox& mailbox, std::uint64_t max_close_wait_ns)
    : mailbox_(mailbox),
      writers_(mailbox.environment()),
      max_close_wait_ns_(max_close_wait_ns),
      space_(space_of("areas", "")),
      nonce_(make_nonce(this)) {
  static_cast<void>(mailbox_.listen(space_, *this));
}

Areas::~Areas() {
  mailbox_.forget(space_);
}

Result<std::unique_ptr<Area>> Areas::create(AreaSpecification specification) {
  COUPLET_TRY(check(specification));
  for (const auto& [number, area] : own_) {
    if (area->specification_.name == specification.name) {
      return fail(Code::exists, "area '{}': this process has one of that name already", specification.name);
    }
  }
  Environment& environment = mailbox_.environment();
  std::unique_ptr<Area> area(new Area(*this, std::move(specification)));
  area->owner_ = environment.self();
  area->number_ = next_area_++;
  auto* const memory = static_cast<std::byte*>(area->specification_.memory);
  const std::uint64_t data_bytes = memory == nullptr ? area->bytes() : 0;
  remove_files_of_earlier_lives();
  const std::string path = fmt::format("{}/{}{:x}-{:016x}", environment.node_directory(),
                                       file_prefix(environment.self()), area->number_, nonce_);
  auto file = os::MappedFile::create(path, wire::area_page_bytes + data_bytes);
  if (!file) {
    area->closed_ = true;
    return file.status().within(fmt::format("area '{}'", area->specification_.name));
  }
  area->file_ = std::move(file).value();
  wire::make_area_header(area->file_->data(), environment.self(), data_bytes, nonce_);
  area->data_ = memory != nullptr ? memory : area->file_->data() + wire::area_page_bytes;
  own_[area->number_] = area.get();
  for (const Question& question : std::exchange(questions_, {})) {
    if (question.name == area->specification_.name) {
      describe(question.source, question.number, *area);
    } else {
      questions_.push_back(question);
    }
  }
  return area;
}

// A process that was killed could not remove the files of its areas, and nobody else knows them by name.
void Areas::remove_files_of_earlier_lives() {
  if (next_area_ > 1) return;  // it was done for the first area
  const std::string& directory = mailbox_.environment().node_directory();
  const auto names = os::list_directory(directory);
  if (!names.ok()) return;  // the creation of the new file says why
  const std::string prefix = file_prefix(mailbox_.environment().self());
  for (const std::string& name : *names) {
    if (name.starts_with(prefix)) static_cast<void>(os::remove_file(fmt::format("{}/{}", directory, name)));
  }
}

// ---- finding ----

void Areas::describe(channel::PeerId target, std::uint64_t number, const Area& area) {
  TaskMessage message;
  message.kind = TaskMessageKind::described;
  message.space = space_;
  message.number = number;
  message.worker = area.number_;
  message.type = area.specification_.type;
  message.code = 0;
  message.text = area.file_->path().substr(area.file_->path().rfind('/') + 1);
  const bool own_memory = area.specification_.memory != nullptr;
  message.numbers = {area.specification_.stamped ? 1 : 0,
                     ::getpid(),
                     own_memory ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(area.data_)) : 0,
                     static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&nonce_)),
                     static_cast<std::int64_t>(nonce_),
                     mailbox_.environment().node(),
                     mailbox_.environment().incarnation(mailbox_.environment().self())};
  message.numbers.insert(message.numbers.end(), area.specification_.shape.begin(), area.specification_.shape.end());
  static_cast<void>(mailbox_.send(target, message));
}

void Areas::asked(channel::PeerId source, const TaskMessage& message) {
  std::string names;
  for (const auto& [number, area] : own_) {
    if (area->specification_.name == message.text) {
      describe(source, message.number, *area);
      return;
    }
    names += (names.empty() ? "'" : ", '") + area->specification_.name + "'";
  }
  std::erase_if(questions_, [&](const Question& one) { return one.source == source && one.name == message.text; });
  questions_.push_back({source, message.number, message.text});
  TaskMessage unknown;
  unknown.kind = TaskMessageKind::unknown;
  unknown.space = space_;
  unknown.number = message.number;
  unknown.text = names.substr(0, wire::largest_task_message_text);
  static_cast<void>(mailbox_.send(source, unknown));
}

Result<std::unique_ptr<Area>> Areas::open(const std::string& name, channel::PeerId owner, std::uint64_t deadline_ns) {
  if (name.empty() || name.size() > longest_name) {
    return fail(Code::argument, "an area has a name of 1 to {} bytes, not {}", longest_name, name.size());
  }
  TaskMessage ask;
  ask.kind = TaskMessageKind::ask;
  ask.text = name;
  auto answer = call(owner, ask, deadline_ns);
  if (answer.code() == Code::peer_lost && !mailbox_.is_gone(owner)) {
    answer = call(owner, std::move(ask), deadline_ns);  // that was an earlier life of the owner
  }
  if (answer.code() == Code::peer_lost) {
    return answer.status().within(fmt::format("area '{}'", name));
  }
  COUPLET_TRY_VALUE(const TaskMessage described, std::move(answer));
  const std::string owner_name = mailbox_.environment().peer_name(owner);
  if (described.kind == TaskMessageKind::unknown) {
    return fail(Code::not_found, "{} has no area '{}'; it has {}", owner_name, name,
                described.text.empty() ? "none" : described.text);
  }
  if (described.kind != TaskMessageKind::described || described.numbers.size() <= shape_start) {
    return fail(Code::protocol, "{} has sent a malformed description of area '{}'", owner_name, name);
  }
  AreaSpecification specification;
  specification.name = name;
  specification.type = described.type;
  specification.stamped = described.numbers[stamped] != 0;
  specification.shape.assign(described.numbers.begin() + shape_start, described.numbers.end());
  COUPLET_TRY(check(specification));
  std::unique_ptr<Area> area(new Area(*this, std::move(specification)));
  area->owner_ = owner;
  area->owner_incarnation_ = static_cast<std::uint16_t>(described.numbers[incarnation]);
  area->number_ = described.worker;
  area->route_ = Route::served;
  reach(*area, described);
  opened_.insert(area.get());
  return area;
}

// Maps the area, or reads and writes it in the owner's memory if that is proven to be possible. Otherwise it stays
// served.
void Areas::reach(Area& area, const TaskMessage& described) {
  Environment& environment = mailbox_.environment();
  if (described.numbers[node] != environment.node() || described.text.find('/') != std::string::npos) {
    return;
  }
  auto file = os::MappedFile::open(environment.node_directory() + "/" + described.text, os::Access::read_write, false);
  const auto nonce_there = static_cast<std::uint64_t>(described.numbers[nonce]);
  const std::uint64_t data_bytes = described.numbers[address] == 0 ? area.bytes() : 0;
  if (!file || !wire::find_area_header((*file)->data(), (*file)->size(), area.owner_, data_bytes, nonce_there)) {
    return;  // also if the owner has closed it meanwhile: it says so when it is asked to serve
  }
  if (described.numbers[address] == 0) {
    area.file_ = std::move(file).value();
    area.data_ = area.file_->data() + wire::area_page_bytes;
    area.route_ = Route::mapped;
    return;
  }
  const auto pid = static_cast<std::uint32_t>(described.numbers[process]);
  os::MemoryProof proof{.address = static_cast<std::uint64_t>(described.numbers[nonce_address]),
                        .size = sizeof nonce_there};
  std::memcpy(proof.bytes.data(), &nonce_there, sizeof nonce_there);
  auto memory = os::ProcessMemory::open(pid, proof);
  if (!memory.ok()) {
    return;
  }
  area.file_ = std::move(file).value();
  area.memory_ = std::move(memory).value();
  area.address_ = static_cast<std::uint64_t>(described.numbers[address]);
  area.route_ = Route::memory;
}

// ---- serving ----

Result<TaskMessage> Areas::call(channel::PeerId owner, TaskMessage message, std::uint64_t deadline_ns) {
  const std::uint64_t number = mailbox_.next_number();
  message.space = space_;
  message.number = number;
  const bool asking = message.kind == TaskMessageKind::ask;
  struct Entry {
    std::map<std::uint64_t, Call>& calls;
    std::uint64_t number;
    ~Entry() { calls.erase(number); }  // also if there is no memory to send the message
  } const entry{calls_, number};
  calls_[number].owner = owner;
  Status status = mailbox_.send(owner, message);
  Call& own = calls_[number];
  const auto answered = [&own, asking] {
    return !own.lost.ok() || (own.message && !(asking && own.message->kind == TaskMessageKind::unknown));
  };
  if (status.ok() && !answered()) {
    status = mailbox_.environment().engine().wait(
        answered, deadline_ns, [] { return std::string("the owner"); }, nullptr, true);
  }
  Call call = std::move(own);
  if (!call.lost.ok()) {
    return call.lost;
  }
  // This includes an `unknown` that came after the timeout.
  if (call.message) {
    return std::move(*call.message);
  }
  if (status.code() == Code::timeout) {
    return fail(Code::timeout,
                "{}, the owner of area '{}', does not answer: it has made no area, or is in no call of the library",
                mailbox_.environment().peer_name(owner), message.text);
  }
  return status;
}

Status Area::served(const Part& part, std::byte* out, const std::byte* in, std::uint64_t deadline_ns,
                    std::uint64_t* stamp) {
  COUPLET_TRY_VALUE(const auto copy, plan(part));
  if (copy.bytes() > wire::largest_task_message_payload) {
    return fail(Code::limit,
                "{}: its owner serves at most {} bytes in one call, and these are {}: use several calls, or a series",
                title(), wire::largest_task_message_payload, copy.bytes());
  }
  TaskMessage message;
  message.kind = in == nullptr ? TaskMessageKind::read : TaskMessageKind::write;
  message.worker = number_;
  message.text = specification_.name;
  message.type = specification_.type;
  message.numbers = encode_part(part);
  if (in != nullptr) {
    message.payload.assign(reinterpret_cast<const char*>(in), copy.bytes());
    message.big_endian = wire::own_big_endian;
  }
  return repeat(
      [&]() -> Status {
        COUPLET_TRY_VALUE(TaskMessage back, areas_.call(owner_, message, deadline_ns));
        if (back.code != COUPLET_OK) {
          return back.status();
        }
        if (in == nullptr) {
          if (back.payload.size() != copy.bytes() || back.type != specification_.type) {
            return fail(Code::protocol, "{}: {} bytes came instead of {}", title(), back.payload.size(), copy.bytes());
          }
          if (back.big_endian != wire::own_big_endian) {
            swap_numbers(reinterpret_cast<std::byte*>(back.payload.data()), back.payload.size(),
                         find_type(back.type)->swap_bytes);
          }
          std::memcpy(out, back.payload.data(), back.payload.size());
        }
        if (stamp != nullptr && !back.numbers.empty()) {
          *stamp = static_cast<std::uint64_t>(back.numbers.front());
        }
        return {};
      },
      deadline_ns);
}

void Areas::serve(channel::PeerId source, TaskMessage message) {
  TaskMessage back;
  back.kind = TaskMessageKind::served;
  back.space = space_;
  back.number = message.number;
  back.type = message.type;
  back.big_endian = wire::own_big_endian;
  std::uint64_t stamp = 0;
  const auto found = own_.find(message.worker);
  const auto work = [&]() -> Status {
    if (found == own_.end() || found->second->specification_.name != message.text) {
      return fail(Code::not_found, "{} no longer has an area '{}'",
                  mailbox_.environment().peer_name(mailbox_.environment().self()), message.text);
    }
    Area& area = *found->second;
    COUPLET_TRY_VALUE(const Part part, decode_part(message.numbers));
    COUPLET_TRY_VALUE(const auto copy, area.plan(part));
    if (message.type != area.specification_.type) {
      return fail(Code::type, "{}: the request is for elements of another type", area.title());
    }
    if (area.writing_) {  // the owner is between begin and end, so others wait
      return Code::not_yet;
    }
    if (message.kind == TaskMessageKind::read) {
      back.payload.resize(copy.bytes());
      return area.try_read(copy, reinterpret_cast<std::byte*>(back.payload.data()), &stamp);
    }
    if (message.payload.size() != copy.bytes()) {
      return fail(Code::protocol, "{}: {} bytes were sent, but the part to write has {} bytes", area.title(),
                  message.payload.size(), copy.bytes());
    }
    if (message.big_endian != wire::own_big_endian) {
      swap_numbers(reinterpret_cast<std::byte*>(message.payload.data()), message.payload.size(),
                   find_type(message.type)->swap_bytes);
    }
    return area.try_write(copy, reinterpret_cast<const std::byte*>(message.payload.data()), &stamp);
  };
  const Status status = work();
  back.code = static_cast<std::int32_t>(status.code());
  if (!status.ok()) {
    back.text = status.error() ? status.text() : std::string();
    back.payload.clear();
  }
  back.numbers.push_back(static_cast<std::int64_t>(stamp));
  static_cast<void>(mailbox_.send(source, back));
}

void Areas::message(channel::PeerId source, TaskMessage message) {
  switch (message.kind) {
    case TaskMessageKind::ask:
      asked(source, message);
      return;
    case TaskMessageKind::read:
    case TaskMessageKind::write:
      serve(source, std::move(message));
      return;
    case TaskMessageKind::described:
    case TaskMessageKind::unknown:
    case TaskMessageKind::served: {
      const auto found = calls_.find(message.number);
      if (found != calls_.end() && found->second.owner == source) {
        found->second.message = std::move(message);
      }
      return;
    }
    default:
      return;  // the other messages do not concern areas
  }
}

void Areas::lost(channel::PeerId peer, const Status& why) {
  std::erase_if(questions_, [peer](const Question& question) { return question.source == peer; });
  for (Area* const area : opened_) {
    // The next check tells which incarnation it was.
    area->next_look_ns_ = area->owner_ == peer ? 0 : area->next_look_ns_;
  }
  for (auto& [number, call] : calls_) {
    if (call.owner == peer) {
      call.lost = fail(Code::peer_lost, "the owner of the area is gone: {}", why.text());
    }
  }
}

}  // namespace couplet::task
