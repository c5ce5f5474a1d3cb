#include "link/file/file_lane.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "link/sealed_records.hpp"
#include "os/clock.hpp"
#include "wire/seal.hpp"

namespace couplet::link {
namespace {

// Less room than this is not used, so that a frame that begins has its header in one piece.
constexpr std::size_t min_plain_bytes = 256;
static_assert(min_plain_bytes >= wire::frame_header_bytes);

class FileLane final : public Lane {
 public:
  explicit FileLane(std::unique_ptr<FileConnection> connection)
      : connection_(std::move(connection)),
        traits_{.name = "file",
                .checked = true,
                .checked_payload_bytes = 0,  // the records have checks of their own
                .same_memory = false,
                .largest_payload = connection_->options().largest_payload,
                .eager_bytes = connection_->options().eager_bytes,
                .may_break = true} {}

  Status encrypt(const SessionKeys& keys);

  [[nodiscard]] const LaneTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override;
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) override;
  [[nodiscard]] bool readable() const noexcept override { return !failure_.ok(); }
  [[nodiscard]] int descriptor() const noexcept override { return connection_->descriptor(); }
  [[nodiscard]] bool want_write() const noexcept override { return blocked_; }
  [[nodiscard]] bool writable() const noexcept override { return plain_room() != 0; }
  void look_soon() noexcept override { connection_->expect_answer(os::now_ns()); }
  void shut() noexcept override {
    if (send_failure_.ok()) {
      send_failure_ = Status(Code::state, "file: this side has shut the lane");
    }
    connection_->shut();
  }
  [[nodiscard]] const Status& failure() const noexcept override;

 private:
  enum class Step : std::uint8_t { need_more, frame, stop, failed };

  // Returns false if the lane can no longer send.
  bool set_sent(const Status& sent);
  // Takes bytes of the frame, beginning with byte `offset`, into one record. Returns how many; 0: there is no room.
  Result<std::size_t> push_record(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset);
  [[nodiscard]] std::size_t plain_room() const noexcept;
  Result<std::span<const std::byte>> receive_plain();
  Step take(FrameReceiver& receiver, std::span<const std::byte> bytes);
  Step begin_frame(FrameReceiver& receiver, std::span<const std::byte> bytes);
  Step add_to_frame(FrameReceiver& receiver, std::span<const std::byte> bytes);
  void end_receiving(const Status& why);

  std::unique_ptr<FileConnection> connection_;
  LaneTraits traits_;
  std::unique_ptr<wire::RecordSeal> send_seal_;
  std::unique_ptr<wire::RecordSeal> receive_seal_;
  // The sending and the receiving side have buffers of their own: a receiver may push.
  std::vector<std::byte> plain_;
  std::vector<std::byte> plain_in_;
  std::vector<std::byte> whole_;  // the payload that arrives, if the receiver gives no memory
  wire::FrameHeader header_;      // the header of the frame that arrives
  std::uint32_t received_ = 0;
  bool more_ = false;     // the last poll stopped before it had taken everything
  bool blocked_ = false;  // the last push has found no room
  Status send_failure_;
  Status failure_;
};

Status FileLane::encrypt(const SessionKeys& keys) {
  COUPLET_TRY_VALUE(send_seal_, wire::RecordSeal::make(keys.cipher, keys.send));
  COUPLET_TRY_VALUE(receive_seal_, wire::RecordSeal::make(keys.cipher, keys.receive));
  plain_.resize(wire::record_plain_bytes);
  plain_in_.resize(wire::record_plain_bytes);
  return {};
}

const Status& FileLane::failure() const noexcept {
  return failure_.ok() ? send_failure_ : failure_;
}

// Returns how many bytes the next record can have of a frame, or 0 if so few are not worth a record.
std::size_t FileLane::plain_room() const noexcept {
  std::size_t room = connection_->room();
  if (send_seal_) {
    room = std::min(room - std::min(room, seal_added_bytes), wire::record_plain_bytes);
  }
  return room < min_plain_bytes ? 0 : room;
}

bool FileLane::set_sent(const Status& sent) {
  if (sent.error()) {
    send_failure_ = sent.within("file");
  }
  return !sent.error();
}

std::int64_t FileLane::push(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
  if (!failure().ok()) {
    return -1;
  }
  COUPLET_ASSERT(header.payload_bytes == payload.size() && payload.size() <= traits_.largest_payload);
  if (!set_sent(connection_->flush())) {
    return -1;
  }
  const std::uint64_t frame_bytes = wire::frame_header_bytes + payload.size();
  std::uint64_t taken = 0;
  // Several records, so that the reader is at work on the first one while the last one is written.
  while (offset + taken < frame_bytes) {
    const auto pushed = push_record(header, payload, offset + taken);
    if (!set_sent(pushed.status())) {
      return -1;
    }
    if (*pushed == 0) {
      break;
    }
    taken += *pushed;
  }
  blocked_ = taken == 0;
  if (taken > 0) {
    connection_->expect_answer(os::now_ns());
  }
  return static_cast<std::int64_t>(taken);
}

Result<std::size_t> FileLane::push_record(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                          std::uint64_t offset) {
  const std::uint64_t left = wire::frame_header_bytes + payload.size() - offset;
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left, plain_room()));
  if (count == 0) {
    return 0;
  }
  const std::size_t body_bytes = send_seal_ ? count + seal_added_bytes : count;
  std::byte* const body = connection_->body(body_bytes);
  std::byte* const plain = send_seal_ ? plain_.data() : body;
  std::size_t filled = 0;
  if (offset < wire::frame_header_bytes) {
    std::array<std::byte, wire::frame_header_bytes> image;
    wire::encode_frame(header, image);
    filled = std::min<std::size_t>(count, wire::frame_header_bytes - offset);
    std::memcpy(plain, image.data() + offset, filled);
  }
  if (filled < count) {
    std::memcpy(plain + filled, payload.data() + (offset + filled - wire::frame_header_bytes), count - filled);
  }
  if (send_seal_) {
    COUPLET_ASSERT(send_seal_->seal(std::span(plain_).first(count), body) == body_bytes);
  }
  COUPLET_TRY(connection_->send(body_bytes));
  return count;
}

int FileLane::poll(FrameReceiver& receiver, int budget) {
  if (!failure_.ok()) {
    return -1;
  }
  const std::uint64_t now_ns = os::now_ns();
  if (!more_ && !connection_->due(now_ns)) {
    return 0;
  }
  if (budget == 0) {
    connection_->take_notices();
  }
  int frames = 0;
  bool moved = false;
  more_ = true;
  for (int records = 0; frames < budget && records < budget + max_extra_records; ++records) {
    const auto plain = receive_plain();
    if (!plain.ok()) {
      more_ = false;
      if (plain.code() != Code::not_yet) {
        end_receiving(plain.status());
      }
      break;
    }
    moved = true;
    const Step step = take(receiver, *plain);
    frames += step == Step::frame || step == Step::stop ? 1 : 0;
    if (step == Step::stop || step == Step::failed) {
      break;
    }
  }
  const Status looked = connection_->finish_look(moved || more_, now_ns);
  if (failure_.ok() && looked.error() && !more_) {
    failure_ = looked.within("file");
  }
  return frames == 0 && !failure_.ok() ? -1 : frames;
}

Result<std::span<const std::byte>> FileLane::receive_plain() {
  COUPLET_TRY_VALUE(const std::span<const std::byte> body, connection_->receive());
  if (!receive_seal_) {
    return body;
  }
  const auto length = wire::RecordSeal::record_length(body);
  if (!length.ok() || *length != body.size()) {
    return fail(Code::protocol, "file: a body of {} bytes is not one sealed record", body.size());
  }
  COUPLET_TRY_VALUE(const std::size_t bytes, receive_seal_->open(body, plain_in_.data()));
  return std::span<const std::byte>(plain_in_).first(bytes);
}

void FileLane::end_receiving(const Status& why) {
  if (why.code() != Code::end) {
    failure_ = why.within("file");
  } else if (place_ != nullptr) {
    failure_ = fail(Code::peer_lost, "file: the peer has ended in the middle of a frame");
  } else {
    failure_ = fail(Code::end, "file: shut by the peer");
  }
}

FileLane::Step FileLane::take(FrameReceiver& receiver, std::span<const std::byte> bytes) {
  return place_ == nullptr ? begin_frame(receiver, bytes) : add_to_frame(receiver, bytes);
}

FileLane::Step FileLane::begin_frame(FrameReceiver& receiver, std::span<const std::byte> bytes) {
  if (bytes.size() < wire::frame_header_bytes) {
    failure_ = fail(Code::protocol, "file: no frame begins with a record of {} bytes", bytes.size());
    return Step::failed;
  }
  header_ = wire::decode_frame(bytes.first<wire::frame_header_bytes>());
  const auto payload = bytes.subspan(wire::frame_header_bytes);
  if (header_.magic != wire::frame_magic || header_.payload_bytes > traits_.largest_payload ||
      payload.size() > header_.payload_bytes) {
    failure_ = fail(Code::protocol, "file: no frame begins with {:#04x}, or has {} bytes and {} in its first record",
                    header_.magic, header_.payload_bytes, payload.size());
    return Step::failed;
  }
  const bool complete = payload.size() == header_.payload_bytes;
  if (complete && payload.size() <= most_unplaced_bytes) {
    return receiver.arrived(header_, payload) ? Step::frame : Step::stop;
  }
  std::byte* const place = receiver.place(header_);
  if (place == nullptr && complete) {
    return receiver.arrived(header_, payload) ? Step::frame : Step::stop;
  }
  if (place == nullptr) {
    whole_.resize(header_.payload_bytes);
  }
  place_ = place == nullptr ? whole_.data() : place;
  received_ = 0;
  return add_to_frame(receiver, payload);
}

FileLane::Step FileLane::add_to_frame(FrameReceiver& receiver, std::span<const std::byte> bytes) {
  if (bytes.size() > header_.payload_bytes - received_) {
    failure_ = fail(Code::protocol, "file: a record has {} bytes of a frame that lacks {}", bytes.size(),
                    header_.payload_bytes - received_);
    return Step::failed;
  }
  if (!bytes.empty()) {
    std::memcpy(place_ + received_, bytes.data(), bytes.size());
    received_ += static_cast<std::uint32_t>(bytes.size());
  }
  if (received_ < header_.payload_bytes) {
    return Step::need_more;
  }
  const std::span<const std::byte> payload(std::exchange(place_, nullptr), header_.payload_bytes);
  return receiver.arrived(header_, payload) ? Step::frame : Step::stop;
}

}  // namespace

Result<std::unique_ptr<Lane>> make_file_lane(std::unique_ptr<FileConnection> connection,
                                             const std::optional<SessionKeys>& keys) {
  if (connection->has_rest()) {
    return fail(Code::protocol, "file: bytes came with the handshake that do not belong to it");
  }
  auto lane = std::make_unique<FileLane>(std::move(connection));
  if (keys) {
    COUPLET_TRY(lane->encrypt(*keys));
  }
  return std::unique_ptr<Lane>(std::move(lane));
}

}  // namespace couplet::link
