#include "message/team.hpp"

#include <algorithm>

namespace couplet::message {
namespace {

// Numbers in what teams send: little endian, as in every frame.
void append_number(std::string& bytes, std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((number >> shift) & 0xFF));
}

std::uint64_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint64_t number = 0;
  for (unsigned index = 0; index < 8; ++index) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[offset + index])} << (8 * index);
  }
  return number;
}

Status merge_minimum(std::string& own, std::string_view other) {
  if (own.size() != other.size()) {
    return fail(Code::mismatch, "one member gives {} values, another {}", own.size() / 8, other.size() / 8);
  }
  for (std::size_t offset = 0; offset < own.size(); offset += 8) {
    if (static_cast<std::int64_t>(number_at(other, offset)) < static_cast<std::int64_t>(number_at(own, offset))) {
      own.replace(offset, 8, other.substr(offset, 8));
    }
  }
  return {};
}

Status merge_records(std::string& own, std::string_view other) {
  own.append(other);
  return {};
}

// Only a code of ours goes on: what else comes from outside becomes a protocol error.
Status failure_from(std::string_view bytes) {
  const auto code = static_cast<couplet_status>(static_cast<std::int64_t>(number_at(bytes, 1)));
  const bool known = code < 0 && std::string_view(code_name(code)) != "unknown";
  return {known ? static_cast<Code>(code) : Code::protocol, std::string(bytes.substr(9))};
}

constexpr char said_ok = 0;
constexpr char said_failed = 1;

}  // namespace

MessageTeam::MessageTeam(Messenger& messenger, Group& group, std::uint32_t context, std::string name)
    : messenger_(messenger), group_(group), context_(context), name_(std::move(name)) {}

Result<std::unique_ptr<MessageTeam>> MessageTeam::open(Messenger& messenger, Group& group, std::string_view name) {
  if (group.rank() < 0) {
    return fail(Code::state, "team '{}': this process is no member of group '{}'", name, group.name());
  }
  const auto use = static_cast<std::int32_t>(messenger.next_use(group.context(), name));
  const std::int32_t key[] = {static_cast<std::int32_t>(group.context()), use};
  const std::uint32_t context = user_context(hash_members(name, key)) | internal_context;
  return std::unique_ptr<MessageTeam>(new MessageTeam(messenger, group, context, std::string(name)));
}

Status MessageTeam::minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) {
  std::string own;
  own.reserve(values.size() * 8);
  for (const std::int64_t value : values) append_number(own, static_cast<std::uint64_t>(value));
  auto all = combine(std::move(own), merge_minimum, deadline_ns);
  if (!all.ok()) return all.status();
  if (all->size() != values.size() * 8) {
    broken_ = fail(Code::mismatch, "team '{}': one member gives {} values, another {}", name_, values.size(),
                   all->size() / 8);
    return broken_;
  }
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = static_cast<std::int64_t>(number_at(*all, index * 8));
  }
  return {};
}

Result<std::vector<std::string>> MessageTeam::gather(const std::string& bytes, std::uint64_t deadline_ns) {
  std::string own;  // records: rank, length, bytes
  append_number(own, static_cast<std::uint64_t>(rank()));
  append_number(own, bytes.size());
  own.append(bytes);
  auto all = combine(std::move(own), merge_records, deadline_ns);
  if (!all.ok()) return all.status();
  std::vector<std::string> parts(static_cast<std::size_t>(size()));
  int found = 0;
  for (std::size_t offset = 0; all->size() - offset >= 16; ++found) {
    const std::uint64_t member = number_at(*all, offset);
    const std::uint64_t length = number_at(*all, offset + 8);
    offset += 16;
    if (member >= parts.size() || length > all->size() - offset) break;
    parts[static_cast<std::size_t>(member)] = all->substr(offset, static_cast<std::size_t>(length));
    offset += static_cast<std::size_t>(length);
  }
  if (found != size()) {
    broken_ = fail(Code::mismatch, "team '{}': {} of {} members gave their part", name_, found, size());
    return broken_;
  }
  return parts;
}

Result<std::string> MessageTeam::combine(std::string own, const Merge& merge, std::uint64_t deadline_ns) {
  if (!broken_.ok()) return broken_;
  const auto tag = static_cast<std::int32_t>(2 * (calls_++ & 0x3FFFFFFF));
  Status status = collect(own, merge, tag, deadline_ns);
  int bit = 1;
  while (bit < size() && (rank() & bit) == 0) bit <<= 1;
  if (rank() != 0) {
    const int parent = rank() & ~bit;
    send(status, own, parent, tag);
    Status from_above = receive(own, parent, tag + 1, deadline_ns);
    if (status.ok() || from_above.code() != Code::timeout) status = std::move(from_above);
  }
  for (int child_bit = bit >> 1; child_bit > 0; child_bit >>= 1) {
    if ((rank() | child_bit) < size()) send(status, own, rank() | child_bit, tag + 1);
  }
  if (!status.ok()) {
    broken_ = std::move(status);
    return broken_;
  }
  return own;
}

// Merges what the children send; all of them are heard, also after a failure.
Status MessageTeam::collect(std::string& own, const Merge& merge, std::int32_t tag, std::uint64_t deadline_ns) {
  Status first;
  for (int bit = 1; bit < size() && (rank() & bit) == 0; bit <<= 1) {
    const int child = rank() | bit;
    if (child >= size()) continue;
    std::string part;
    Status status = receive(part, child, tag, deadline_ns);
    if (status.ok() && first.ok()) {
      status = merge(own, part);
      if (!status.ok()) status = status.within(fmt::format("team '{}'", name_));
    }
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

Status MessageTeam::receive(std::string& bytes, int source, std::int32_t tag, std::uint64_t deadline_ns) {
  std::string image;
  Status status = messenger_.recv_internal(group_, context_, image, source, tag, deadline_ns);
  if (!status.ok()) {
    return status.error() ? status.within(fmt::format("team '{}'", name_))
                          : fail(Code::timeout, "team '{}': interrupted", name_);
  }
  if (image.size() >= 9 && image.front() == said_failed) return failure_from(image);
  if (image.empty() || image.front() != said_ok) {
    return fail(Code::protocol, "team '{}': rank {} sends no answer of a team", name_, source);
  }
  bytes.assign(image, 1, std::string::npos);
  return {};
}

// A target that is lost is not told: it knows, or does not care any more.
void MessageTeam::send(const Status& status, const std::string& bytes, int target, std::int32_t tag) {
  std::string image(1, status.ok() ? said_ok : said_failed);
  if (status.ok()) {
    image.append(bytes);
  } else {
    append_number(image, static_cast<std::uint64_t>(static_cast<std::int64_t>(status.code())));
    image.append(status.text());
  }
  const Status sent = messenger_.send_internal(group_, context_, image, target, tag);
  (void)sent;
}

}  // namespace couplet::message
