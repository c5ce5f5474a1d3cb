#include "exchange/mapped.hpp"

#include <array>
#include <atomic>
#include <bit>

#include "exchange/inbox.hpp"
#include "os/futex.hpp"

namespace couplet::exchange {
namespace {

// One neighbour.
struct Lane {
  // To the neighbour: its inbox.
  std::array<Half, 2> out;
  std::atomic<std::uint32_t>* peer_sleeps = nullptr;
  std::atomic<std::uint64_t>* consumed = nullptr;  // own inbox: by the neighbour; nullptr: it is not needed
  std::uint64_t sent = 0;
  // From the neighbour: the own inbox.
  std::array<Half, 2> in;
  std::uint64_t in_bytes = 0;
  std::atomic<std::uint64_t>* return_consumed = nullptr;  // in the neighbour's inbox; nullptr: it does not need it
  std::uint64_t taken = 0;
  mutable bool is_seen = false;  // has_arrived() has returned true in this round
  bool wants_room = false;       // outgoing() has returned nullptr
};

class Mapped final : public Method {
 public:
  Mapped(std::unique_ptr<Inbox> own, std::vector<std::unique_ptr<Inbox>> theirs, std::vector<Lane> lanes)
      : own_(std::move(own)),
        theirs_(std::move(theirs)),
        lanes_(std::move(lanes)),
        sleeps_(own_ == nullptr ? no_word_ : own_->sleeps()) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "mapped"; }
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override;
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override;
  Status send(std::uint32_t port, std::uint64_t bytes) override;
  Status all_sent() override;
  Status poll() override { return {}; }
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override;
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override;
  [[nodiscard]] bool is_complete() const override { return true; }
  Status end() override;
  bool before_sleep(Sleep& sleep) override;
  void after_sleep() noexcept override { sleeps_.store(0, std::memory_order_relaxed); }
  Result<bool> close() override { return true; }

 private:
  [[nodiscard]] static bool has_room(const Lane& lane) noexcept;
  void wake(std::span<const std::uint32_t> ports) noexcept;

  std::unique_ptr<Inbox> own_;  // nullptr: this member reaches none of its neighbours
  std::vector<std::unique_ptr<Inbox>> theirs_;
  std::vector<Lane> lanes_;
  std::atomic<std::uint32_t> no_word_{0};
  std::atomic<std::uint32_t>& sleeps_;
  std::span<const std::uint32_t> sending_;
  std::span<const std::uint32_t> receiving_;
};

Status Mapped::begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) {
  sending_ = sending;
  receiving_ = receiving;
  for (const std::uint32_t port : receiving) lanes_[port].is_seen = false;
  return {};
}

// The half was last used by the message before the last one. A paired neighbour that has sent its last message has
// consumed that one: then nothing has to be looked at.
bool Mapped::has_room(const Lane& lane) noexcept {
  return lane.consumed == nullptr || lane.consumed->load(std::memory_order_acquire) + 2 > lane.sent;
}

std::byte* Mapped::outgoing(std::uint32_t port) {
  Lane& lane = lanes_[port];
  if (!has_room(lane)) [[unlikely]] {
    if (!std::exchange(lane.wants_room, true)) wake(sending_);  // what was sent so far must not wait
    return nullptr;
  }
  lane.wants_room = false;
  return lane.out[lane.sent & 1U].data;
}

Status Mapped::send(std::uint32_t port, std::uint64_t bytes) {
  Lane& lane = lanes_[port];
  HalfLine& line = *lane.out[lane.sent & 1U].line;
  ++lane.sent;
  line.bytes = bytes;
  line.number.store(lane.sent, std::memory_order_release);
  return {};
}

Status Mapped::all_sent() {
  wake(sending_);
  return {};
}

// A neighbour that goes to sleep stores that, and then looks at the numbers once more; this one does the opposite. The
// fences order both, so that one of the two sees the other.
void Mapped::wake(std::span<const std::uint32_t> ports) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const std::uint32_t port : ports) {
    std::atomic<std::uint32_t>& sleeps = *lanes_[port].peer_sleeps;
    if (sleeps.load(std::memory_order_relaxed) == 0) [[likely]]
      continue;
    if (sleeps.exchange(0, std::memory_order_relaxed) != 0) os::futex_wake(sleeps);
  }
}

bool Mapped::has_arrived(std::uint32_t port) const {
  const Lane& lane = lanes_[port];
  if (lane.in[lane.taken & 1U].line->number.load(std::memory_order_acquire) != lane.taken + 1) return false;
  lane.is_seen = true;
  return true;
}

// The neighbour could write any length.
std::span<const std::byte> Mapped::incoming(std::uint32_t port) const {
  const Lane& lane = lanes_[port];
  const Half& half = lane.in[lane.taken & 1U];
  return {half.data, std::min(half.line->bytes, lane.in_bytes)};
}

Status Mapped::end() {
  bool has_returned = false;
  for (const std::uint32_t port : receiving_) {
    Lane& lane = lanes_[port];
    ++lane.taken;
    if (lane.return_consumed == nullptr) continue;
    lane.return_consumed->store(lane.taken, std::memory_order_release);
    has_returned = true;
  }
  if (has_returned) wake(receiving_);
  return {};
}

bool Mapped::before_sleep(Sleep& sleep) {
  sleeps_.store(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const std::uint32_t port : receiving_) {
    if (lanes_[port].is_seen || !has_arrived(port)) continue;
    lanes_[port].is_seen = false;  // the caller has not seen it yet
    after_sleep();
    return false;
  }
  for (const std::uint32_t port : sending_) {
    if (!lanes_[port].wants_room || !has_room(lanes_[port])) continue;
    after_sleep();
    return false;
  }
  sleep = {.may_block = true, .word = &sleeps_, .expected = 1};
  return true;
}

// Connects the own inbox and those of the neighbours that are reached.
std::vector<Lane> lanes_of(std::span<const Port> ports, Inbox& own, std::span<const std::unique_ptr<Inbox>> theirs,
                           std::span<const InboxPlace> own_places, std::span<const InboxPlace> places_there) {
  std::vector<Lane> lanes(ports.size());
  for (std::size_t index = 0; index < ports.size(); ++index) {
    if (theirs[index] == nullptr) continue;
    const Port& port = ports[index];
    Lane& lane = lanes[index];
    Inbox& there = *theirs[index];
    lane.peer_sleeps = &there.sleeps();
    lane.in_bytes = port.in_bytes;
    if (port.sends) lane.out = there.halves(places_there[index]);
    if (port.receives) lane.in = own.halves(own_places[index]);
    if (port.sends && !port.is_paired) lane.consumed = &own.consumed(own_places[index]);
    if (port.receives && !port.is_paired) lane.return_consumed = &there.consumed(places_there[index]);
  }
  return lanes;
}

// What a member says to a neighbour about its inbox, and what the neighbour answers.
struct Meeting {
  std::vector<std::unique_ptr<Inbox>> theirs;  // for each port; nullptr: it cannot be reached
  std::vector<InboxPlace> places;
  std::vector<std::string> why;
};

void open_theirs(Meeting& meeting, std::size_t index, const Setting& setting, const std::string& text) {
  auto invitation = decode_invitation(text);
  Status status = invitation.status();
  if (status.ok()) status = invitation->fits(setting.ports[index]);
  if (status.ok()) {
    auto opened = Inbox::open(setting.run_directory, *invitation);
    status = opened.status();
    if (status.ok()) {
      meeting.theirs[index] = std::move(*opened);
      meeting.places[index] = invitation->place;
    }
  }
  if (!status.ok()) meeting.why[index] = status.text();
}

}  // namespace

// Each member makes the same calls of `talk`, whatever fails: the others wait for it.
Result<MappedPart> MappedMaker::make_part(const Setting& setting, Talk& talk) {
  const std::size_t count = setting.ports.size();
  std::vector<InboxPlace> own_places;
  auto own = Inbox::create(setting, own_places);
  std::vector<std::string> texts(count);
  for (std::size_t index = 0; own.ok() && index < count; ++index) {
    texts[index] = encode_invitation((*own)->invitation(setting.ports[index], own_places[index]));
  }
  Meeting meeting{.theirs = std::vector<std::unique_ptr<Inbox>>(count),
                  .places = std::vector<InboxPlace>(count),
                  .why = std::vector<std::string>(count)};
  COUPLET_TRY_VALUE(const auto invitations, talk.swap(texts));
  for (std::size_t index = 0; index < count; ++index) {
    if (!own.ok()) {
      meeting.why[index] = own.status().text();
    } else {
      open_theirs(meeting, index, setting, invitations[index]);
    }
  }
  COUPLET_TRY_VALUE(const auto answers, talk.swap(meeting.why));
  MappedPart part;
  part.reached.resize(count);
  for (std::size_t index = 0; index < count; ++index) {
    if (meeting.why[index].empty() && !answers[index].empty()) {
      meeting.why[index] = "it says: " + answers[index];
      meeting.theirs[index].reset();
    }
    part.reached[index] = meeting.theirs[index] != nullptr;
  }
  part.why = std::move(meeting.why);
  std::vector<Lane> lanes(count);
  if (own.ok()) {
    COUPLET_TRY((*own)->remove_name());
    lanes = lanes_of(setting.ports, **own, meeting.theirs, own_places, meeting.places);
  }
  part.method =
      std::make_unique<Mapped>(own.ok() ? std::move(*own) : nullptr, std::move(meeting.theirs), std::move(lanes));
  return part;
}

Result<std::unique_ptr<Method>> MappedMaker::make(const Setting& setting, Talk& talk) {
  auto made = make_part(setting, talk);
  Status status = made.status();
  if (!made.ok()) return talk.agree(status);
  MappedPart& part = *made;
  for (std::size_t index = 0; index < part.reached.size() && status.ok(); ++index) {
    if (part.reached[index]) continue;
    status = fail(Code::unsupported, "rank {} shares no memory with rank {}: {}", setting.rank,
                  setting.ports[index].peer, part.why[index]);
  }
  COUPLET_TRY(talk.agree(status));
  return std::move(part.method);
}

}  // namespace couplet::exchange
