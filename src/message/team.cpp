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

// The own part is missing: what comes from others is heard, and dropped.
Status merge_nothing(std::string& /*own*/, std::string_view /*other*/) {
  return {};
}

// bytes: a code, and the text. Only a code of ours is passed on: any other becomes a protocol error.
Status failure_from(std::string_view bytes) {
  if (bytes.size() < 8) return fail(Code::protocol, "a failure without a code");
  const auto number = static_cast<couplet_status>(static_cast<std::int64_t>(number_at(bytes, 0)));
  const bool known = number < 0 && std::string_view(code_name(number)) != "unknown";
  return fail(known ? static_cast<Code>(number) : Code::protocol, "{}", bytes.substr(8));
}

constexpr char said_ok = 0;
constexpr char said_failed = 1;
constexpr std::uint64_t retry_ns = 1'000'000;

constexpr std::size_t image_head_bytes = 10;  // what is said, the identity, the length of the name
constexpr std::size_t max_name_bytes = 255;   // in an image

}  // namespace

MessageTeam::MessageTeam(Messenger& messenger, Group& group, std::uint64_t identity, std::string name)
    : messenger_(messenger),
      group_(group),
      identity_(identity),
      context_(user_context(identity) | internal_context),
      name_(std::move(name)) {}

std::uint64_t MessageTeam::identity_of(const Group& group, std::string_view name, std::uint32_t number) {
  const std::int32_t key[] = {static_cast<std::int32_t>(group.hash()), static_cast<std::int32_t>(group.hash() >> 32U),
                              static_cast<std::int32_t>(number)};
  return hash_members(name, key);
}

Result<std::unique_ptr<MessageTeam>> MessageTeam::open(Messenger& messenger, Group& group, std::string_view name) {
  if (group.rank() < 0) {
    return fail(Code::state, "team '{}': this process is no member of group '{}'", name, group.name());
  }
  std::uint32_t& uses = messenger.uses_of(group.context(), name);
  const std::uint64_t identity = identity_of(group, name, uses);
  auto team = std::unique_ptr<MessageTeam>(new MessageTeam(messenger, group, identity, std::string(name)));
  ++uses;  // an exception before this leaves the count as the other members have it
  return team;
}

Status MessageTeam::minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) {
  auto all = combine(
      [&](std::string& own) {
        own.reserve(values.size() * 8);
        for (const std::int64_t value : values) append_number(own, static_cast<std::uint64_t>(value));
      },
      merge_minimum, deadline_ns);
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
  auto all = combine(
      [&](std::string& own) {  // records: rank, length, bytes
        append_number(own, static_cast<std::uint64_t>(rank()));
        append_number(own, bytes.size());
        own.append(bytes);
      },
      merge_records, deadline_ns);
  if (!all.ok()) return all.status();
  std::vector<std::string> parts;
  own_failure_ = with_memory([&] {
    parts.resize(static_cast<std::size_t>(size()));
    return take_apart(*all, parts);
  });
  if (own_failure_.ok()) return parts;
  return own_failure_;
}

// Into the part of each member.
Status MessageTeam::take_apart(const std::string& all, std::vector<std::string>& parts) const {
  int found = 0;
  for (std::size_t offset = 0; all.size() - offset >= 16; ++found) {
    const std::uint64_t member = number_at(all, offset);
    const std::uint64_t length = number_at(all, offset + 8);
    offset += 16;
    if (member >= parts.size() || length > all.size() - offset) break;
    parts[static_cast<std::size_t>(member)] = all.substr(offset, static_cast<std::size_t>(length));
    offset += static_cast<std::size_t>(length);
  }
  return found == size() ? Status() : fail(Code::mismatch, "{} of {} members gave their part", found, size());
}

// Every member takes part in every call, also one that has no memory for its own part: the others hear of it.
Result<std::string> MessageTeam::combine(const Fill& fill, const Merge& merge, std::uint64_t deadline_ns) {
  if (!broken_.ok()) return broken_;
  const auto tag = static_cast<std::int32_t>(2 * (calls_++ & 0x3FFFFFFF));
  std::string own;
  Status status = own_failure_.ok() ? with_memory([&] {
    fill(own);
    return Status();
  })
                                    : own_failure_;
  Status collected = collect(own, status.ok() ? merge : Merge(merge_nothing), tag, deadline_ns);
  if (status.ok()) status = std::move(collected);
  int bit = 1;
  while (bit < size() && (rank() & bit) == 0) bit <<= 1;
  if (rank() != 0) {
    const int parent = rank() & ~bit;
    send(status, own, parent, tag, deadline_ns);
    Status from_above = receive(own, parent, tag + 1, deadline_ns);
    if (status.ok() || from_above.code() != Code::timeout) status = std::move(from_above);
  }
  for (int child_bit = bit >> 1; child_bit > 0; child_bit >>= 1) {
    if ((rank() | child_bit) < size()) send(status, own, rank() | child_bit, tag + 1, deadline_ns);
  }
  if (status.code() == Code::memory) {  // perhaps here alone: the others hear of it in the next call
    own_failure_ = status;
    return status;
  }
  if (!status.ok()) {
    broken_ = std::move(status);
    return broken_;
  }
  return Result<std::string>(std::move(own));  // a copy could fail here alone
}

// Merges what the children send; all of them are heard, also after a failure.
Status MessageTeam::collect(std::string& own, const Merge& merge, std::int32_t tag, std::uint64_t deadline_ns) {
  Status first;
  for (int bit = 1; bit < size() && (rank() & bit) == 0; bit <<= 1) {
    const int child = rank() | bit;
    if (child >= size()) continue;
    std::string part;
    Status status = receive(part, child, tag, deadline_ns);
    if (status.ok() && first.ok()) status = with_memory([&] { return merge(own, part); });
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

Status MessageTeam::receive(std::string& bytes, int source, std::int32_t tag, std::uint64_t deadline_ns) {
  std::string image;
  COUPLET_TRY(with_memory([&] { return messenger_.recv_internal(group_, context_, image, source, tag, deadline_ns); }));
  try {
    return take_image(std::move(image), source, bytes);
  } catch (const std::bad_alloc&) {
    return Code::memory;  // for the text of a failure
  }
}

std::string MessageTeam::image_of(const Status& status, const std::string& bytes) const {
  std::string image(1, status.ok() ? said_ok : said_failed);
  append_number(image, identity_);
  const std::string_view name = std::string_view(name_).substr(0, max_name_bytes);
  image.push_back(static_cast<char>(name.size()));
  image.append(name);
  if (status.ok()) {
    image.append(bytes);
  } else {
    append_number(image, static_cast<std::uint64_t>(static_cast<std::int64_t>(status.code())));
    image.append(status.text());
  }
  return image;
}

// Checks that `image` belongs to this very team: contexts are only 31 bits of an identity, so that two teams may have
// the same.
Status MessageTeam::take_image(std::string image, int source, std::string& bytes) const {
  const std::size_t name_bytes = image.size() < image_head_bytes ? 0 : static_cast<unsigned char>(image[9]);
  const std::size_t head_bytes = image_head_bytes + name_bytes;
  if (image.size() < head_bytes || (image.front() != said_ok && image.front() != said_failed)) {
    return fail(Code::protocol, "team '{}': rank {} sends no answer of a team", name_, source);
  }
  if (number_at(image, 1) != identity_) {
    return fail(
        Code::mismatch,
        "team '{}': rank {} answers for team '{}', which has the same context {:#010x}: name one of them otherwise",
        name_, source, std::string_view(image).substr(image_head_bytes, name_bytes), context_);
  }
  if (image.front() == said_failed) return failure_from(std::string_view(image).substr(head_bytes));
  image.erase(0, head_bytes);
  bytes = std::move(image);
  return {};
}

// Calls `body`, and names the team in its error. memory: there was none for it.
template <typename Body>
Status MessageTeam::with_memory(const Body& body) const noexcept {
  Status status;
  try {
    status = body();
  } catch (const std::bad_alloc&) {
    status = fail(Code::memory, "no memory for an agreement among {} members", size());
  }
  if (status.ok()) return status;
  if (!status.error()) return fail(Code::timeout, "team '{}': interrupted", name_);
  try {
    return status.within(fmt::format("team '{}'", name_));
  } catch (const std::bad_alloc&) {
    return status;
  }
}

// A target that is lost is not told: it knows, or does not need it any more. Without memory to send, it is tried again
// while the call lasts, since the target waits; then it hears of it by the end of the channel.
void MessageTeam::send(const Status& status, const std::string& bytes, int target, std::int32_t tag,
                       std::uint64_t deadline_ns) noexcept {
  std::string image;
  while (true) {
    const Status sent = with_memory([&] {
      if (image.empty()) image = image_of(status, bytes);
      return messenger_.send_internal(group_, context_, image, target, tag);
    });
    if (sent.code() != Code::memory) return;
    const std::uint64_t now_ns = os::now_ns();
    if (now_ns >= deadline_ns) return messenger_.give_up_peer(group_, target, sent);
    messenger_.move_until(std::min(deadline_ns, now_ns + retry_ns));
  }
}

}  // namespace couplet::message
