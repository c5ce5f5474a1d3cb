#include "link/ucx/ucx_lane.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "link/sealed_records.hpp"
#include "os/clock.hpp"
#include "os/socket.hpp"
#include "wire/numbers.hpp"
#include "wire/seal.hpp"

namespace couplet::link {
namespace {

// Credit is given when this part of what may be unread was consumed.
constexpr std::uint64_t credit_parts = 4;
constexpr std::uint64_t process_look_interval_ns = 5'000'000;
constexpr int max_last_rounds = 1000;

// How much of a direction may be sent and not consumed. Both sides find the same.
UcxAmount most_unread(const UcxConnection& connection) noexcept {
  const UcxOptions& options = connection.worker->options();
  const bool share = connection.endpoint->may_share_memory();
  return {
      .records = share ? std::min(options.max_unread_records, options.max_shared_records) : options.max_unread_records,
      .bytes = share ? std::min(options.max_unread_bytes, options.max_shared_bytes) : options.max_unread_bytes};
}

class UcxLane final : public Lane {
 public:
  explicit UcxLane(UcxConnection connection)
      : connection_(std::move(connection)),
        options_(connection_.worker->options()),
        most_(most_unread(connection_)),
        traits_{.name = "ucx",
                .checked = true,
                .checked_payload_bytes = options_.checked_payload_bytes,
                .same_memory = false,
                .largest_payload = options_.largest_payload,
                .eager_bytes = options_.eager_bytes,
                .may_break = true} {}
  ~UcxLane() override;
  UcxLane(const UcxLane&) = delete;
  UcxLane& operator=(const UcxLane&) = delete;

  Status encrypt(const SessionKeys& keys);

  [[nodiscard]] const LaneTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override;
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) override;
  [[nodiscard]] bool readable() const noexcept override {
    return !failure_.ok() || inbox().has_next() || !inbox().failure().ok() || !endpoint().failure().ok();
  }
  [[nodiscard]] bool want_write() const noexcept override { return blocked_; }
  [[nodiscard]] bool writable() const noexcept override { return failure_.ok() && plain_room() != 0; }
  // The peer has to say that it has got everything: nothing of this lane outlives the process.
  [[nodiscard]] bool leave_behind() noexcept override { return false; }
  void shut() noexcept override;
  [[nodiscard]] const Status& failure() const noexcept override {
    return failure_.ok() && shut_ ? shut_here_ : failure_;
  }

 private:
  enum class Step : std::uint8_t { need_more, frame, stop, failed };
  // Of the socket: open; the peer has said how many records it has sent; it is closed without that.
  enum class Line : std::uint8_t { open, ended, broken };

  [[nodiscard]] UcxInbox& inbox() const noexcept { return *connection_.inbox; }
  [[nodiscard]] UcxEndpoint& endpoint() const noexcept { return *connection_.endpoint; }
  [[nodiscard]] std::size_t plain_room() const noexcept;
  void send_record(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t at,
                   std::size_t count);
  int deliver(FrameReceiver& receiver, int budget);
  Result<std::span<const std::byte>> open_record();
  Step take(FrameReceiver& receiver, std::span<const std::byte> bytes);
  Step begin_frame(FrameReceiver& receiver, std::span<const std::byte> bytes);
  Step add_to_frame(FrameReceiver& receiver, std::span<const std::byte> bytes);
  void give_credit() noexcept;
  void look_at_line() noexcept;
  void look_for_end() noexcept;
  void set_failure(Status why) noexcept;

  UcxConnection connection_;
  const UcxOptions& options_;
  UcxAmount most_;
  LaneTraits traits_;
  std::unique_ptr<wire::RecordSeal> send_seal_;
  std::unique_ptr<wire::RecordSeal> receive_seal_;
  struct Sending {
    UcxAmount sent;
    std::vector<std::byte> plain;  // a record before it is sealed
    bool in_frame = false;
  } sending_;
  struct Receiving {
    wire::FrameHeader header;
    std::uint32_t bytes = 0;
    std::vector<std::byte> whole;  // the payload that arrives, if the receiver gives no memory
    std::vector<std::byte> plain;
    UcxAmount told;  // the credit that was given
  } receiving_;
  struct Watching {
    Line line = Line::open;
    std::array<std::byte, wire::ucx_goodbye_bytes> goodbye{};
    std::size_t goodbye_bytes = 0;
    std::uint64_t next_look_ns = 0;
    std::uint64_t progress_count = 0;
    std::uint64_t silent_since_ns = 0;
  } watching_;
  bool blocked_ = false;
  bool shut_ = false;
  Status shut_here_{Code::state, "ucx: this side has shut the lane"};
  Status failure_;
};

UcxLane::~UcxLane() {
  if (!connection_.worker->mine()) {
    return;
  }
  shut();
  // Closing with unread bytes would reset the connection, and the peer could lose our last words.
  std::array<std::byte, 64> dropped{};
  static_cast<void>(::recv(connection_.socket.number(), dropped.data(), dropped.size(), MSG_DONTWAIT));
  if (failure_.ok() || failure_.code() == Code::end) {
    endpoint().release();
  } else {
    endpoint().leave();
  }
}

Status UcxLane::encrypt(const SessionKeys& keys) {
  COUPLET_TRY_VALUE(send_seal_, wire::RecordSeal::make(keys.cipher, keys.send));
  COUPLET_TRY_VALUE(receive_seal_, wire::RecordSeal::make(keys.cipher, keys.receive));
  sending_.plain.resize(wire::record_plain_bytes);
  receiving_.plain.resize(wire::record_plain_bytes);
  return {};
}

void UcxLane::set_failure(Status why) noexcept {
  if (failure_.ok()) {
    failure_ = std::move(why);
    blocked_ = false;
  }
}

// ---- sending --------------------------------------------------------------------------------------------------------

// Returns how many bytes of a frame the next record can have, or 0 if it has to wait for credit.
std::size_t UcxLane::plain_room() const noexcept {
  const UcxAmount& credit = inbox().credit();
  const std::uint64_t records = sending_.sent.records - std::min(credit.records, sending_.sent.records);
  const std::uint64_t bytes = sending_.sent.bytes - std::min(credit.bytes, sending_.sent.bytes);
  const std::size_t most = send_seal_ ? wire::record_plain_bytes : options_.record_bytes;
  const bool is_full = records >= most_.records || bytes + most + seal_added_bytes > most_.bytes;
  // What UCX holds of a lane over shared memory waits for room at the receiver, as what follows would do.
  const bool is_held = endpoint().may_share_memory() && endpoint().holds_messages();
  return is_full || is_held || !endpoint().failure().ok() ? 0 : most;
}

std::int64_t UcxLane::push(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
  COUPLET_ASSERT(header.payload_bytes == payload.size() && payload.size() <= traits_.largest_payload);
  if (shut_ || !failure_.ok()) {
    return -1;
  }
  const std::uint64_t total = wire::frame_header_bytes + payload.size();
  std::uint64_t at = offset;
  while (at < total) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(total - at, plain_room()));
    if (count == 0) {
      break;
    }
    send_record(header, payload, at, count);
    at += count;
  }
  blocked_ = at < total;
  sending_.in_frame = at > 0 && at < total;
  return static_cast<std::int64_t>(at - offset);
}

void UcxLane::send_record(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t at,
                          std::size_t count) {
  const std::size_t body_bytes = send_seal_ ? count + seal_added_bytes : count;
  auto block = connection_.worker->core().take_block(body_bytes);
  std::byte* const plain = send_seal_ ? sending_.plain.data() : block->memory.get();
  std::size_t filled = 0;
  if (at < wire::frame_header_bytes) {
    std::array<std::byte, wire::frame_header_bytes> image;
    wire::encode_frame(header, image);
    filled = std::min<std::size_t>(count, wire::frame_header_bytes - at);
    std::memcpy(plain, image.data() + at, filled);
  }
  if (filled < count) {
    std::memcpy(plain + filled, payload.data() + (at + filled - wire::frame_header_bytes), count - filled);
  }
  if (send_seal_) {
    COUPLET_ASSERT(send_seal_->seal(std::span(sending_.plain).first(count), block->memory.get()) == body_bytes);
  }
  block->head = wire::encode_ucx_head(
      {.kind = wire::UcxKind::data, .token = connection_.peer_token, .number = sending_.sent.records, .bytes = 0});
  endpoint().send(std::move(block), body_bytes);
  ++sending_.sent.records;
  sending_.sent.bytes += body_bytes;
}

// The goodbye travels over the socket, so that it does not depend on UCX. It is not sent in the middle of a frame: the
// peer must see that something is missing.
void UcxLane::shut() noexcept {
  if (shut_) {
    return;
  }
  shut_ = true;
  blocked_ = false;
  const bool is_sound = failure_.ok() || failure_.code() == Code::end;
  if (is_sound && !sending_.in_frame && endpoint().failure().ok()) {
    std::array<std::byte, wire::ucx_goodbye_bytes> goodbye{};
    wire::put_little(goodbye.data(), sending_.sent.records);
    static_cast<void>(os::send_some(connection_.socket, goodbye.data(), goodbye.size()));
  }
  ::shutdown(connection_.socket.number(), SHUT_WR);
}

void UcxLane::give_credit() noexcept {
  const UcxAmount& consumed = inbox().consumed();
  UcxAmount& told = receiving_.told;
  if ((consumed.records - told.records) * credit_parts < most_.records &&
      (consumed.bytes - told.bytes) * credit_parts < most_.bytes) {
    return;
  }
  try {
    auto block = connection_.worker->core().take_block(0);
    block->head = wire::encode_ucx_head({.kind = wire::UcxKind::credit,
                                         .token = connection_.peer_token,
                                         .number = consumed.records,
                                         .bytes = consumed.bytes});
    endpoint().send(std::move(block), 0);
    told = consumed;
  } catch (const std::bad_alloc&) {
    return;  // the next record tries again
  }
}

// ---- receiving ------------------------------------------------------------------------------------------------------

int UcxLane::poll(FrameReceiver& receiver, int budget) {
  if (!failure_.ok()) {
    return -1;
  }
  const int frames = deliver(receiver, budget);
  if (frames > 0) {
    return frames;
  }
  UcxWorker& worker = *connection_.worker;
  if (worker.progress_count() == watching_.progress_count) {  // no other lane has done it since the last poll
    worker.progress();
  }
  watching_.progress_count = worker.progress_count();
  if (!inbox().has_next()) {
    look_for_end();
  }
  return failure_.ok() ? 0 : -1;
}

int UcxLane::deliver(FrameReceiver& receiver, int budget) {
  int frames = 0;
  for (int records = 0; frames < budget && records < budget + max_extra_records && inbox().has_next(); ++records) {
    const auto plain = open_record();
    if (!plain.ok()) {
      set_failure(plain.status());
      break;
    }
    const Step step = take(receiver, *plain);
    inbox().consume();
    give_credit();
    frames += step == Step::frame || step == Step::stop ? 1 : 0;
    if (step == Step::stop || step == Step::failed) {
      break;
    }
  }
  return frames;
}

Result<std::span<const std::byte>> UcxLane::open_record() {
  const auto body = inbox().next();
  if (!receive_seal_) {
    return body;
  }
  const auto length = wire::RecordSeal::record_length(body);
  if (!length.ok() || *length != body.size()) {
    return fail(Code::protocol, "ucx: a record of {} bytes is not one sealed record", body.size());
  }
  COUPLET_TRY_VALUE(const std::size_t bytes, receive_seal_->open(body, receiving_.plain.data()));
  return std::span<const std::byte>(receiving_.plain).first(bytes);
}

UcxLane::Step UcxLane::take(FrameReceiver& receiver, std::span<const std::byte> bytes) {
  return place_ == nullptr ? begin_frame(receiver, bytes) : add_to_frame(receiver, bytes);
}

UcxLane::Step UcxLane::begin_frame(FrameReceiver& receiver, std::span<const std::byte> bytes) {
  if (bytes.size() < wire::frame_header_bytes) {
    set_failure(fail(Code::protocol, "ucx: no frame begins with a record of {} bytes", bytes.size()));
    return Step::failed;
  }
  wire::FrameHeader& header = receiving_.header;
  header = wire::decode_frame(bytes.first<wire::frame_header_bytes>());
  const auto payload = bytes.subspan(wire::frame_header_bytes);
  if (header.magic != wire::frame_magic || header.payload_bytes > traits_.largest_payload ||
      payload.size() > header.payload_bytes) {
    set_failure(fail(Code::protocol, "ucx: no frame begins with {:#04x}, or has {} bytes and {} in its first record",
                     header.magic, header.payload_bytes, payload.size()));
    return Step::failed;
  }
  const bool complete = payload.size() == header.payload_bytes;
  if (complete && payload.size() <= most_unplaced_bytes) {
    return receiver.arrived(header, payload) ? Step::frame : Step::stop;
  }
  std::byte* const place = receiver.place(header);
  if (place == nullptr && complete) {
    return receiver.arrived(header, payload) ? Step::frame : Step::stop;
  }
  if (place == nullptr) {
    receiving_.whole.resize(header.payload_bytes);
  }
  place_ = place == nullptr ? receiving_.whole.data() : place;
  receiving_.bytes = 0;
  return add_to_frame(receiver, payload);
}

UcxLane::Step UcxLane::add_to_frame(FrameReceiver& receiver, std::span<const std::byte> bytes) {
  const std::uint32_t lacking = receiving_.header.payload_bytes - receiving_.bytes;
  if (bytes.size() > lacking) {
    set_failure(fail(Code::protocol, "ucx: a record has {} bytes of a frame that lacks {}", bytes.size(), lacking));
    return Step::failed;
  }
  if (!bytes.empty()) {
    std::memcpy(place_ + receiving_.bytes, bytes.data(), bytes.size());
    receiving_.bytes += static_cast<std::uint32_t>(bytes.size());
  }
  if (receiving_.bytes < receiving_.header.payload_bytes) {
    return Step::need_more;
  }
  const std::span<const std::byte> payload(std::exchange(place_, nullptr), receiving_.header.payload_bytes);
  return receiver.arrived(receiving_.header, payload) ? Step::frame : Step::stop;
}

// ---- the end --------------------------------------------------------------------------------------------------------

// Reads what the peer says at the end of its direction.
void UcxLane::look_at_line() noexcept {
  while (watching_.line == Line::open) {
    const std::size_t known = watching_.goodbye_bytes;
    std::byte surplus{};
    const bool is_whole = known == watching_.goodbye.size();
    const auto read = is_whole ? os::receive_some(connection_.socket, &surplus, 1)
                               : os::receive_some(connection_.socket, watching_.goodbye.data() + known,
                                                  watching_.goodbye.size() - known);
    if (read.code() == Code::not_yet) {
      return;
    }
    if (read.ok() && !is_whole) {
      watching_.goodbye_bytes += *read;
      continue;
    }
    watching_.line = is_whole && read.code() == Code::end ? Line::ended : Line::broken;
    watching_.silent_since_ns = os::now_ns();
  }
}

// Called when nothing is left to deliver.
void UcxLane::look_for_end() noexcept {
  const std::uint64_t now_ns = os::now_ns();
  const bool is_lost = !endpoint().failure().ok();
  if (watching_.line == Line::open && (is_lost || now_ns >= watching_.next_look_ns)) {
    watching_.next_look_ns = now_ns + process_look_interval_ns;
    look_at_line();
  }
  if (watching_.line != Line::open || is_lost) {  // what has come is delivered first
    for (int round = 0; round < max_last_rounds && connection_.worker->progress() > 0; ++round) {
    }
    if (inbox().has_next()) {
      return;
    }
  }
  if (!inbox().failure().ok()) {
    set_failure(inbox().failure());
    return;
  }
  const bool is_late = now_ns > watching_.silent_since_ns + options_.max_silence_ns;
  const auto due = wire::take_little<std::uint64_t>(watching_.goodbye.data());
  const std::uint64_t consumed = inbox().consumed().records;
  if (watching_.line == Line::ended && consumed >= due) {
    set_failure(place_ == nullptr ? fail(Code::end, "ucx: shut by the peer")
                                  : fail(Code::peer_lost, "ucx: the peer has ended in the middle of a frame"));
  } else if (watching_.line == Line::ended && (is_late || is_lost)) {
    set_failure(fail(Code::peer_lost, "ucx: the peer has sent {} records and ended, but {} have come{}{}", due,
                     consumed, is_lost ? ": " : "", is_lost ? endpoint().failure().text() : ""));
  } else if (watching_.line == Line::broken) {
    set_failure(fail(Code::peer_lost, "ucx: the connection was closed without a goodbye"));
  } else if (is_lost) {
    set_failure(endpoint().failure().within("ucx"));
  }
}

}  // namespace

Result<std::unique_ptr<Lane>> make_ucx_lane(UcxConnection connection, const std::optional<SessionKeys>& keys) {
  os::allow_unread(connection.socket);
  auto lane = std::make_unique<UcxLane>(std::move(connection));
  if (keys) {
    COUPLET_TRY(lane->encrypt(*keys));
  }
  return std::unique_ptr<Lane>(std::move(lane));
}

}  // namespace couplet::link
