#include "message/team.hpp"

#include <algorithm>
#include <bit>

#include "base/counted.hpp"
#include "message/courier.hpp"
#include "os/host.hpp"

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
    return fail(Code::mismatch, "one member gives {}, another {}", counted(own.size() / 8, "value"), other.size() / 8);
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

// For a broadcast, in which only the part of rank 0 counts, and for a rank whose own part has failed: drops what the
// others send, so that the call still ends for all.
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
constexpr std::uint64_t look_again_ns = 100'000'000;       // whether a child that had left is back
constexpr int max_receive_failures = 3;                    // without memory; then a greeting is given up
constexpr std::uint64_t max_grace_ns = 500'000'000;        // for the answer of a member that gives up at the deadline
constexpr std::uint64_t notice_patience_ns = 100'000'000;  // for memory to tell others of a failure

constexpr std::size_t image_head_bytes = 18;  // kind, identity, meeting number, and length of the name
constexpr std::size_t max_name_bytes = 255;   // in an image
constexpr std::size_t greeting_room_bytes = 2048;

std::int32_t upwards(std::uint32_t call) noexcept {
  return static_cast<std::int32_t>(2 * (call & 0x3FFFFFFF));
}
std::int32_t downwards(std::uint32_t call) noexcept {
  return upwards(call) + 1;
}

// Of what a member and its parent say to each other in one meeting.
std::uint32_t context_of(std::uint64_t identity, std::int32_t child, std::uint64_t meeting) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const std::uint64_t number : {identity, std::uint64_t{static_cast<std::uint32_t>(child)}, meeting}) {
    for (unsigned shift = 0; shift < 64; shift += 8) hash = (hash ^ ((number >> shift) & 0xFF)) * 0x100000001b3U;
  }
  return user_context(hash) | internal_context;
}

std::uint32_t greeting_context(std::uint64_t identity) noexcept {
  return user_context(identity) | internal_context;
}

// Says which member is lost, and not back; ok: none. A meeting needs all of them.
Status lost_member(const Courier& courier, const Group& group) {
  for (std::int32_t rank = 0; rank < group.size(); ++rank) {
    if (rank != group.rank() && courier.is_lost(group.peer(rank))) return courier.loss(group.peer(rank));
  }
  return {};
}

// Returns the error of a team that was broken up: the life of its member `ended` is over.
Status fallen_apart(const Courier& courier, channel::PeerId ended) {
  return fail(Code::peer_lost, "{}; all members have to close, and to open again together with its next life",
              courier.loss(ended).text());
}

// The error if a neighbour was not heard: what the messenger says of a wait for a message helps no user of a team.
Status not_heard(const Status& received, const Courier& courier, channel::PeerId peer, std::uint64_t began_ns) {
  return received.code() != Code::timeout
             ? received
             : fail(Code::timeout, "waited {:.3g} s for {} to take part",
                    static_cast<double>(os::now_ns() - began_ns) * 1e-9, courier.name(peer));
}

// A member that gives up at the deadline says which one has not come. So those that wait for its word wait longer than
// it does, and name that one instead: each level of the tree waits a little longer than the one before it, first up the
// tree and then down again.
std::uint64_t later(std::uint64_t deadline_ns, std::uint64_t now_ns, int levels, int all_levels) noexcept {
  if (deadline_ns == os::never || deadline_ns <= now_ns) return deadline_ns;
  const std::uint64_t all_ns = std::min(max_grace_ns, (deadline_ns - now_ns) / 10);
  return deadline_ns + all_ns * static_cast<std::uint64_t>(levels) / static_cast<std::uint64_t>(all_levels);
}
int levels_of_tree(int size) noexcept {
  return std::max(1, 32 - std::countl_zero(static_cast<std::uint32_t>(size - 1)));
}
// For what the child brings, below which there are as many levels as its number has zeros at its end.
std::uint64_t deadline_of_child(std::uint64_t deadline_ns, std::uint64_t now_ns, std::int32_t child,
                                int size) noexcept {
  return later(deadline_ns, now_ns, std::countr_zero(static_cast<unsigned>(child)), 2 * levels_of_tree(size));
}
// For what the parent says, above which there are as many levels as the number of the member has ones.
std::uint64_t deadline_of_answer(std::uint64_t deadline_ns, std::uint64_t now_ns, std::int32_t rank,
                                 int size) noexcept {
  const int levels = levels_of_tree(size);
  return later(deadline_ns, now_ns, levels + std::popcount(static_cast<unsigned>(rank)), 2 * levels);
}

// Into the part of each member.
Status take_apart(const std::string& all, std::vector<std::string>& parts) {
  std::size_t found = 0;
  for (std::size_t offset = 0; all.size() - offset >= 16; ++found) {
    const std::uint64_t member = number_at(all, offset);
    const std::uint64_t length = number_at(all, offset + 8);
    offset += 16;
    if (member >= parts.size() || length > all.size() - offset) break;
    parts[static_cast<std::size_t>(member)] = all.substr(offset, static_cast<std::size_t>(length));
    offset += static_cast<std::size_t>(length);
  }
  return found == parts.size()
             ? Status()
             : fail(Code::mismatch, "only {} of {} members of the team have contributed", found, parts.size());
}

}  // namespace

// ---- meetings ----

MessageTeam::MessageTeam(Messenger& messenger, Group& group, std::string name, std::uint64_t first_meeting)
    : messenger_(messenger),
      group_(group),
      name_(std::move(name)),
      identity_(identity_of(group, name_)),
      next_meeting_(first_meeting),
      losses_(group) {
  int bit = 1;
  for (; bit < size() && (rank() & bit) == 0; bit <<= 1) {
    if ((rank() | bit) < size()) children_.push_back(edge_to(rank() | bit));
  }
  if (rank() != 0) parent_ = edge_to(rank() & ~bit);
  greeting_.reserve(greeting_room_bytes);
}

MessageTeam::Edge MessageTeam::edge_to(std::int32_t rank) const {
  return {.rank = rank, .peer = group_.peer(rank), .meeting = 0, .context = 0, .losses = 0, .met = false};
}

Status MessageTeam::ended_life(const Edge& edge) const {
  if (Courier(messenger_).losses(edge.peer) == edge.losses) return {};
  const Courier courier(messenger_);
  const Status loss = courier.loss(edge.peer);
  return courier.is_lost(edge.peer) ? loss : fail(loss.code(), "{}; it was started again", loss.text());
}

Status MessageTeam::ended_since_first(const Edge& edge) const {
  const Courier courier(messenger_);
  return losses_.has_ended(courier, edge.rank) ? with_memory([&] { return fallen_apart(courier, edge.peer); })
                                               : Status();
}

MessageTeam::~MessageTeam() {
  end_meeting();
}

std::uint64_t MessageTeam::identity_of(const Group& group, std::string_view name) {
  const std::int32_t key[] = {static_cast<std::int32_t>(group.hash()), static_cast<std::int32_t>(group.hash() >> 32U)};
  return hash_members(name, key);
}

Result<std::unique_ptr<MessageTeam>> MessageTeam::open(Messenger& messenger, Group& group, std::string_view name) {
  if (group.rank() < 0) {
    return fail(Code::state, "team '{}': this process is no member of group '{}'", name, group.name());
  }
  COUPLET_TRY_VALUE(const std::uint64_t first_meeting, os::random_bits());
  return std::unique_ptr<MessageTeam>(new MessageTeam(messenger, group, std::string(name), first_meeting));
}

void MessageTeam::begin_meeting() noexcept {
  met_ = true;
  calls_ = 0;
  if (parent_.rank < 0) return;
  parent_.meeting = next_meeting_++;
  parent_.context = context_of(identity_, rank(), parent_.meeting);
  parent_.met = true;
}

// Nothing that is left of it, or still comes, is kept.
void MessageTeam::end_meeting() noexcept {
  if (parent_.met) messenger_.end_internal(parent_.peer, parent_.context);
  parent_.met = false;
  for (Edge& child : children_) {
    if (child.met) messenger_.end_internal(child.peer, child.context);
    child.met = false;
  }
  met_ = false;
}

Status MessageTeam::broken_up() {
  const Courier courier(messenger_);
  const std::optional<std::int32_t> ended = losses_.find_ended(courier);
  return with_memory([&] { return ended ? courier.loss(group_.peer(*ended)) : lost_member(courier, group_); });
}

void MessageTeam::leave(const Status& why) noexcept {
  if (!met_) return;
  const std::uint64_t patience_ns = os::now_ns() + notice_patience_ns;
  if (parent_.met) static_cast<void>(send(why, {}, parent_, upwards(calls_), patience_ns));
  for (const Edge& child : children_) {
    if (child.met) static_cast<void>(send(why, {}, child, downwards(calls_), patience_ns));
  }
  end_meeting();
}

// Before this member begins its next call, only two things come: what a child that has begun it brings, which is no
// failure, and what a neighbour says that has failed.
Status MessageTeam::disturbance() {
  return with_memory([&]() -> Status {
    if (!met_) return {};
    if (parent_.met) {
      COUPLET_TRY(said_failure(parent_, downwards(calls_)));  // what it said before it left says more
      COUPLET_TRY(ended_life(parent_));
    }
    for (const Edge& child : children_) {
      if (!child.met) continue;
      COUPLET_TRY(said_failure(child, upwards(calls_)));
      COUPLET_TRY(ended_life(child));
    }
    return {};
  });
}

Status MessageTeam::said_failure(const Edge& from, std::int32_t tag) const {
  const std::span<const std::byte> image = Courier(messenger_).arrived(from.peer, from.context, tag);
  if (image.empty()) return {};
  COUPLET_TRY_VALUE(const Head head, head_of({reinterpret_cast<const char*>(image.data()), image.size()}, from.rank));
  return head.failed ? failure_from(head.content) : Status();
}

// Takes the first greeting of the child that is still meant, and what the child brings to the first call with it.
Status MessageTeam::greeted(std::string& bytes, Edge& child, std::uint64_t deadline_ns) {
  const std::uint64_t began_ns = os::now_ns();
  int failures = 0;
  while (true) {
    child.losses = Courier(messenger_).losses(child.peer);
    COUPLET_TRY(ended_since_first(child));  // a greeting of its next life is meant for another team
    // A child that has left may come back while it is waited for.
    const std::uint64_t until_ns = losses_.noted() ? std::min(deadline_ns, os::now_ns() + look_again_ns) : deadline_ns;
    const Status received = with_memory([&] {
      const auto came =
          messenger_.recv_internal(group_, greeting_context(identity_), greeting_, child.rank, greeting_tag, until_ns);
      return not_heard(came, Courier(messenger_), child.peer, began_ns);
    });
    if (received.code() == Code::timeout && until_ns < deadline_ns) continue;
    if (received.code() == Code::memory && ++failures < max_receive_failures && os::now_ns() < deadline_ns) {
      messenger_.move_until(os::now_ns() + retry_ns);  // a child that is not met cannot be told of a failure
      continue;
    }
    COUPLET_TRY(received);
    auto head = head_of(greeting_, child.rank);
    if (!head.ok()) return with_memory([&] { return head.status(); });
    child.meeting = head->meeting;
    child.context = context_of(head->identity, child.rank, head->meeting);
    if (messenger_.end_internal(child.peer, child.context, true)) continue;
    child.met = true;
    COUPLET_TRY(ended_since_first(child));  // the wait has shown that one that had left is back: its next life is told
    return with_memory([&] {
      Status status = check_head(*head, child);
      if (status.ok() && head->failed) status = failure_from(head->content);
      if (status.ok()) bytes.assign(head->content);
      return status;
    });
  }
}

// ---- calls ----

Status MessageTeam::minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) {
  auto all = combine(
      [&](std::string& own) {
        own.reserve(values.size() * 8);
        for (const std::int64_t value : values) append_number(own, static_cast<std::uint64_t>(value));
      },
      merge_minimum, deadline_ns);
  if (!all.ok()) return all.status();
  if (all->size() != values.size() * 8) {
    Status differs = fail(Code::mismatch, "team '{}': one member gives {}, another {}", name_,
                          counted(values.size(), "value"), all->size() / 8);
    leave(differs);
    return differs;
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
  const Status taken = with_memory([&] {
    parts.resize(static_cast<std::size_t>(size()));
    return take_apart(*all, parts);
  });
  if (taken.ok()) return Result<std::vector<std::string>>(std::move(parts));
  leave(taken);  // the others have theirs
  return taken;
}

Status MessageTeam::broadcast(std::string& bytes, std::uint64_t deadline_ns) {
  auto all = combine(
      [&](std::string& own) {
        if (rank() == 0) own = bytes;
      },
      merge_nothing, deadline_ns);
  if (!all.ok()) return all.status();
  bytes = std::move(*all);
  return {};
}

// Every member takes part in every call, also one that has no memory for its own part: the others hear of it.
Result<std::string> MessageTeam::combine(const Fill& fill, const Merge& merge, std::uint64_t deadline_ns) {
  if (!met_) begin_meeting();
  const std::uint32_t call = calls_++;
  const std::uint64_t answer_ns = deadline_of_answer(deadline_ns, os::now_ns(), rank(), size());
  std::string own;
  Status status = with_memory([&] {
    fill(own);
    return Status();
  });
  Status collected = collect(own, status.ok() ? merge : Merge(merge_nothing), call, deadline_ns);
  if (status.ok()) status = std::move(collected);
  bool heard = parent_.rank < 0;
  if (parent_.rank >= 0) {
    if (call == 0) parent_.losses = Courier(messenger_).losses(parent_.peer);
    Status ended = call == 0 ? ended_since_first(parent_) : Status();
    const Status said =
        ended.ok() ? send(status, own, parent_, call == 0 ? greeting_tag : upwards(call), deadline_ns) : ended;
    const bool unknown = call == 0 && !said.ok();  // nobody answers a greeting that was not sent
    // Sending may have shown that one that had left is back: it is told below why this member does not go on.
    if (call == 0 && !unknown) ended = ended_since_first(parent_);
    Status from_above = unknown      ? said
                        : ended.ok() ? receive(own, parent_, downwards(call), answer_ns, heard)
                                     : std::move(ended);
    heard = heard || unknown;
    if (status.ok() || from_above.code() != Code::timeout) status = std::move(from_above);
  }
  if (status.error() && status.code() != Code::peer_lost) {
    // What a neighbour tells may be a failure of a team that it has opened since: the ended life is named instead.
    const Courier courier(messenger_);
    const std::optional<std::int32_t> ended = losses_.find_ended(courier);
    if (ended) status = with_memory([&] { return fallen_apart(courier, group_.peer(*ended)); });
  }
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    if (child->met) static_cast<void>(send(status, own, *child, downwards(call), deadline_ns));
  }
  if (status.ok() && !losses_.noted()) losses_.note(Courier(messenger_));
  if (status.ok()) return Result<std::string>(std::move(own));  // a copy could fail here alone
  if (!heard) {  // the parent, and all above it, may have gone on to the next call
    static_cast<void>(send(status, {}, parent_, upwards(calls_), os::now_ns() + notice_patience_ns));
  }
  end_meeting();
  return status;
}

// Merges what the children send; all of them are heard, also after a failure.
Status MessageTeam::collect(std::string& own, const Merge& merge, std::uint32_t call, std::uint64_t deadline_ns) {
  const std::uint64_t now_ns = os::now_ns();
  Status first;
  for (Edge& child : children_) {
    const std::uint64_t until_ns = deadline_of_child(deadline_ns, now_ns, child.rank, size());
    std::string part;
    bool heard = false;
    Status status = call == 0 ? greeted(part, child, until_ns) : receive(part, child, upwards(call), until_ns, heard);
    if (status.ok() && call > 0 && messenger_.end_internal(child.peer, child.context, true)) {
      status = with_memory([&] { return fail(Code::timeout, "rank {} has given up the previous call", child.rank); });
    }
    if (status.ok() && first.ok()) status = with_memory([&] { return merge(own, part); });
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

// heard: the neighbour has answered, if only with a failure.
Status MessageTeam::receive(std::string& bytes, const Edge& from, std::int32_t tag, std::uint64_t deadline_ns,
                            bool& heard) {
  const std::uint64_t began_ns = os::now_ns();
  std::string image;
  COUPLET_TRY(with_memory([&] {
    // What the neighbour has said before it was lost still counts.
    Status ended = ended_life(from);
    const std::uint64_t until_ns = ended.ok() ? deadline_ns : 0;
    Status received = messenger_.recv_internal(group_, from.context, image, from.rank, tag, until_ns);
    return received.code() == Code::timeout && !ended.ok()
               ? ended
               : not_heard(received, Courier(messenger_), from.peer, began_ns);
  }));
  return with_memory([&]() -> Status {
    COUPLET_TRY_VALUE(const Head head, head_of(image, from.rank));
    COUPLET_TRY(check_head(head, from));
    heard = true;
    if (head.failed) return failure_from(head.content);
    image.erase(0, image.size() - head.content.size());
    bytes = std::move(image);
    return {};
  });
}

// ---- images ----

std::string MessageTeam::image_of(const Status& status, const std::string& bytes, const Edge& to) const {
  std::string image(1, status.ok() ? said_ok : said_failed);
  append_number(image, identity_);
  append_number(image, to.meeting);
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

Result<MessageTeam::Head> MessageTeam::head_of(std::string_view image, std::int32_t source) const {
  const std::size_t name_bytes =
      image.size() < image_head_bytes ? 0 : static_cast<unsigned char>(image[image_head_bytes - 1]);
  const std::size_t head_bytes = image_head_bytes + name_bytes;
  if (image.size() < head_bytes || (image.front() != said_ok && image.front() != said_failed)) {
    return fail(Code::protocol, "rank {} has sent a message that is not an answer of a team", source);
  }
  return Head{.failed = image.front() == said_failed,
              .identity = number_at(image, 1),
              .meeting = number_at(image, 9),
              .name = image.substr(image_head_bytes, name_bytes),
              .content = image.substr(head_bytes)};
}

// Checks that what was said belongs to this very team and meeting: contexts are only 31 bits, so that two teams may
// have the same.
Status MessageTeam::check_head(const Head& head, const Edge& from) const {
  if (head.identity != identity_) {
    return fail(Code::mismatch,
                "rank {} answers for team '{}', which has the same context {:#010x}: give one of them another name",
                from.rank, head.name, greeting_context(identity_));
  }
  if (head.meeting != from.meeting) {
    return fail(Code::protocol, "rank {} answers for meeting {:#x}, not for {:#x}", from.rank, head.meeting,
                from.meeting);
  }
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
    const std::string title = fmt::format("team '{}'", name_);
    return status.text().starts_with(title) ? status : status.within(title);
  } catch (const std::bad_alloc&) {
    return status;
  }
}

// A target that is lost, or was started again, is not told: it knows, or does not need it any more. Without memory to
// send, or without a descriptor for the connection, it is tried again while the call lasts, since the target waits;
// then it hears of it by the end of the channel. Returns why nothing was sent.
Status MessageTeam::send(const Status& status, const std::string& bytes, const Edge& to, std::int32_t tag,
                         std::uint64_t deadline_ns) noexcept {
  if (tag != greeting_tag && Courier(messenger_).losses(to.peer) != to.losses) return Code::peer_lost;
  const std::uint32_t context = tag == greeting_tag ? greeting_context(identity_) : to.context;
  std::string image;
  while (true) {
    Status sent = with_memory([&] {
      if (image.empty()) image = image_of(status, bytes, to);
      return messenger_.send_internal(group_, context, image, to.rank, tag);
    });
    if (sent.code() != Code::memory && sent.code() != Code::limit) return sent;
    const std::uint64_t now_ns = os::now_ns();
    if (now_ns >= deadline_ns) {
      messenger_.give_up_peer(group_, to.rank, sent);
      return sent;
    }
    messenger_.move_until(std::min(deadline_ns, now_ns + retry_ns));
  }
}

}  // namespace couplet::message
