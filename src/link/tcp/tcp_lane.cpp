#include "link/tcp/tcp_lane.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "link/tcp/found.hpp"
#include "link/tcp/record_writer.hpp"
#include "link/tcp/stage.hpp"
#include "os/error.hpp"
#include "os/ticks.hpp"

namespace couplet::link {
namespace {

// Number of peers whose connection may wait to be accepted while the process computes. The system may allow fewer.
constexpr int max_waiting_callers = 4096;
constexpr std::uint64_t look_interval_ticks = 250'000 * os::ticks_per_us;
constexpr std::uint32_t longest_silence_ms = 3000;  // leaves time to report it within 5 s

// The last frame of a direction, and the only one that belongs to the link. It says that nothing further comes.
constexpr std::uint8_t goodbye_kind = wire::frame_kind(wire::FrameFamily::channel, 15);

// After a payload of at least this size, another one is likely. Bytes that are received into the stage, and not into
// their final memory, must be copied.
constexpr std::uint32_t long_payload_bytes = 32U << 10U;
constexpr std::size_t stage_bytes_between_long = 4096;

// Up to this payload, a frame is copied into one piece of memory before it is sent.
constexpr std::size_t one_piece_bytes = 512;

// The room for sealed bytes that a system call must have. If there is less, the incomplete record moves to the front.
constexpr std::size_t min_sealed_room_bytes = 32U << 10U;

// One direction of an encrypted connection: the bytes as they are in the socket.
struct Sealed {
  std::unique_ptr<wire::RecordSeal> seal;
  Stage bytes{2 * wire::record_bytes};
};

// A system call with one piece of memory costs less than one with two.
ssize_t send_in_one_piece(const os::Descriptor& socket, const wire::FrameHeader& header,
                          std::span<const std::byte> payload) {
  std::array<std::byte, wire::frame_header_bytes + one_piece_bytes> image;  // NOLINT: filled below
  wire::encode_frame(header, std::span(image).first<wire::frame_header_bytes>());
  if (!payload.empty()) {
    std::memcpy(image.data() + wire::frame_header_bytes, payload.data(), payload.size());
  }
  const std::size_t bytes = wire::frame_header_bytes + payload.size();
  return os::retry_interrupted(
      [&] { return ::send(socket.number(), image.data(), bytes, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

ssize_t send_parts(const os::Descriptor& socket, const wire::FrameHeader& header, std::span<const std::byte> payload,
                   std::uint64_t offset) {
  std::array<std::byte, wire::frame_header_bytes> image;
  std::array<iovec, 2> parts{};
  std::size_t count = 0;
  if (offset < image.size()) {
    wire::encode_frame(header, image);
    parts[count++] = {image.data() + offset, image.size() - offset};
  }
  const std::uint64_t sent = offset > image.size() ? offset - image.size() : 0;
  if (sent < payload.size()) {
    parts[count++] = {const_cast<std::byte*>(payload.data()) + sent, payload.size() - sent};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  return os::retry_interrupted([&] { return ::sendmsg(socket.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

class TcpLane final : public Lane {
 public:
  TcpLane(os::Descriptor socket, const TcpOptions& options)
      : socket_(std::move(socket)),
        traits_{.name = "tcp",
                .checked = true,
                .checked_payload_bytes = options.checked_payload_bytes,
                .same_memory = false,
                .largest_payload = options.largest_payload,
                .eager_bytes = options.eager_bytes,
                .may_break = true},
        stage_(std::max<std::size_t>(options.stage_bytes, 2 * wire::record_bytes)) {}
  ~TcpLane() override;

  Status take_early(std::span<const std::byte> early);
  Status encrypt(const SessionKeys& keys);

  [[nodiscard]] const LaneTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override;
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) override;
  [[nodiscard]] bool readable() const noexcept override { return more_staged_ || !failure_.ok(); }
  [[nodiscard]] int descriptor() const noexcept override { return socket_.number(); }
  [[nodiscard]] bool want_write() const noexcept override { return blocked_ || pending_ != 0; }
  [[nodiscard]] bool writable() const noexcept override { return !want_write(); }
  void shut() noexcept override;
  [[nodiscard]] const Status& failure() const noexcept override {
    return failure_.ok() && shut_ ? shut_here_ : failure_;
  }

 private:
  enum class Step : std::uint8_t { need_more, frame, stop, failed };
  enum class Fill : std::uint8_t { some, none, failed };

  std::int64_t push_plain(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset);
  std::int64_t push_sealed(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset);
  void make_pending_bytes();
  bool flush();
  Step take_frame(FrameReceiver& receiver);
  Step begin_frame(FrameReceiver& receiver);
  Step finish_frame(FrameReceiver& receiver, std::span<const std::byte> payload);
  Fill fill();
  Fill fill_plain();
  Fill fill_sealed();
  Fill open_records();
  Fill receive(iovec* parts, int count, std::size_t& received);
  void look_for_silence();
  void set_failure(Status why);

  os::Descriptor socket_;
  LaneTraits traits_;
  // The sending side. The pending bytes are sealed records, or the goodbye.
  Buffer pending_bytes_;
  std::size_t pending_ = 0;
  std::size_t pending_sent_ = 0;
  bool blocked_ = false;
  bool in_sent_frame_ = false;
  bool shut_ = false;
  bool goodbye_said_ = false;
  bool closed_ = false;
  // The receiving side.
  Stage stage_;
  wire::FrameHeader header_;
  // The place of the payload that is arriving; nullptr if it is collected in the stage.
  std::uint32_t received_ = 0;
  bool in_frame_ = false;
  bool more_staged_ = false;
  bool drained_ = false;
  Buffer scratch_;
  std::uint32_t scratch_bytes_ = 0;
  std::unique_ptr<RecordWriter> send_seal_;
  std::unique_ptr<Sealed> receive_seal_;
  Status shut_here_{Code::state, "tcp: this side has shut the lane"};
  Found found_;
  Status failure_;
};

TcpLane::~TcpLane() {
  if (!socket_.mine()) {
    return;  // in a forked child
  }
  shut();
  // Closing with unread bytes would reset the connection, and the peer could lose our last frames.
  std::array<std::byte, 4096> dropped{};
  for (int piece = 0; piece < 64; ++piece) {
    if (::recv(socket_.number(), dropped.data(), dropped.size(), MSG_DONTWAIT) <= 0) {
      break;
    }
  }
}

Status TcpLane::take_early(std::span<const std::byte> early) {
  Stage& stage = receive_seal_ ? receive_seal_->bytes : stage_;
  if (early.size() > stage.room_bytes()) {
    return fail(Code::limit, "tcp: {} bytes came with the handshake, but there is room for {} only", early.size(),
                stage.room_bytes());
  }
  if (!early.empty()) {
    std::memcpy(stage.room(), early.data(), early.size());
    stage.end += early.size();
    more_staged_ = true;
  }
  return {};
}

Status TcpLane::encrypt(const SessionKeys& keys) {
  COUPLET_TRY_VALUE(auto send_seal, wire::RecordSeal::make(keys.cipher, keys.send));
  send_seal_ = std::make_unique<RecordWriter>(std::move(send_seal));
  receive_seal_ = std::make_unique<Sealed>();
  COUPLET_TRY_VALUE(receive_seal_->seal, wire::RecordSeal::make(keys.cipher, keys.receive));
  return {};
}

void TcpLane::set_failure(Status why) {
  if (failure_.ok()) {
    failure_ = std::move(why);
    blocked_ = false;
    pending_ = 0;
  }
}

// ---- sending -------------------------------------------------------------------------------------------------------

std::int64_t TcpLane::push(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
  COUPLET_ASSERT(header.payload_bytes == payload.size());
  if (shut_ || !failure_.ok()) {
    return -1;
  }
  const std::int64_t taken = send_seal_ ? push_sealed(header, payload, offset) : push_plain(header, payload, offset);
  if (taken >= 0) {
    const std::uint64_t total = wire::frame_header_bytes + payload.size();
    const std::uint64_t at = offset + static_cast<std::uint64_t>(taken);
    blocked_ = at < total;
    in_sent_frame_ = at > 0 && at < total;
  }
  return taken;
}

std::int64_t TcpLane::push_plain(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                 std::uint64_t offset) {
  const bool small = offset == 0 && payload.size() <= one_piece_bytes;
  const ssize_t taken =
      small ? send_in_one_piece(socket_, header, payload) : send_parts(socket_, header, payload, offset);
  if (taken >= 0) {
    return taken;
  }
  const int error = errno;
  if (error == EAGAIN) {
    return 0;
  }
  auto why = os::socket_failure(error, "tcp: sending failed");
  if (why.code() == Code::peer_lost) {
    found_.note(why);
    return 0;  // poll() finds the lost connection, after what had arrived before
  }
  set_failure(std::move(why));
  return -1;
}

// Sends what is pending. Returns true if nothing is left.
bool TcpLane::flush() {
  while (pending_sent_ < pending_) {
    const auto sent = os::send_some(socket_, pending_bytes_.get() + pending_sent_, pending_ - pending_sent_);
    if (!sent.ok()) {
      if (sent.code() == Code::peer_lost) {
        found_.note(sent.status().within("tcp"));
      } else if (sent.code() != Code::not_yet) {
        set_failure(sent.status().within("tcp"));
      }
      return false;
    }
    pending_sent_ += *sent;
  }
  pending_ = pending_sent_ = 0;
  if (goodbye_said_ && !closed_) {
    closed_ = true;
    ::shutdown(socket_.number(), SHUT_WR);
  }
  return true;
}

void TcpLane::make_pending_bytes() {
  if (!pending_bytes_) {
    pending_bytes_ =
        std::make_unique_for_overwrite<std::byte[]>(send_seal_ ? RecordWriter::max_bytes : wire::frame_header_bytes);
  }
}

std::int64_t TcpLane::push_sealed(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) {
  const std::uint64_t total = wire::frame_header_bytes + payload.size();
  make_pending_bytes();
  std::uint64_t at = offset;
  while (at < total && flush()) {
    const RecordWriter::Sealed sealed = send_seal_->seal(header, payload, at, pending_bytes_.get());
    at += sealed.frame_bytes;
    pending_ = sealed.record_bytes;
  }
  static_cast<void>(failure_.ok() && flush());
  return failure_.ok() ? static_cast<std::int64_t>(at - offset) : -1;
}

void TcpLane::shut() noexcept {
  if (shut_) {
    return;
  }
  shut_ = true;
  blocked_ = false;
  if (!failure_.ok() && failure_.code() != Code::end) {
    return;
  }
  // The peer must see that a frame is missing.
  if (in_sent_frame_) {
    closed_ = true;
    ::shutdown(socket_.number(), SHUT_WR);
    return;
  }
  wire::FrameHeader goodbye{.kind = goodbye_kind};
  wire::seal_frame(goodbye, {}, false);
  std::array<std::byte, wire::frame_header_bytes> image;
  wire::encode_frame(goodbye, image);
  make_pending_bytes();
  if (send_seal_ && !flush()) {
    // A record is not completely sent. Since its end is missing, the peer correctly sees a lost connection.
    closed_ = true;
    ::shutdown(socket_.number(), SHUT_WR);
    return;
  }
  if (send_seal_) {
    pending_ = send_seal_->seal(image, pending_bytes_.get());
  } else {
    std::memcpy(pending_bytes_.get(), image.data(), image.size());
    pending_ = image.size();
  }
  goodbye_said_ = true;
  static_cast<void>(flush());
}

// ---- receiving -----------------------------------------------------------------------------------------------------

// Checks for silence of the peer's system. TCP_USER_TIMEOUT would take a peer that computes, and reads nothing
// meanwhile, for one that is gone.
void TcpLane::look_for_silence() {
  const std::uint64_t now = os::ticks();
  if (now - found_.last_look_ticks < look_interval_ticks || !failure_.ok()) {
    return;
  }
  found_.last_look_ticks = now;
  if (const std::uint32_t silent = os::silent_ms(socket_); silent >= longest_silence_ms) {
    set_failure(
        os::socket_failure(ETIMEDOUT, fmt::format("tcp: the peer's system has answered nothing for {} ms", silent)));
    os::abort_on_close(socket_);  // otherwise a peer that can be reached again would see a normal end of this process
  }
}

int TcpLane::poll(FrameReceiver& receiver, int budget) {
  if (!failure_.ok()) {
    return -1;
  }
  if (pending_ != 0) {
    static_cast<void>(flush());
  }
  int frames = 0;
  bool interrupted = false;
  drained_ = false;
  while (!interrupted) {
    const Step step = take_frame(receiver);
    if (step == Step::frame || step == Step::stop) {
      ++frames;
      interrupted = step == Step::stop || frames >= budget;
    } else if (step == Step::failed || fill() != Fill::some) {
      break;
    }
  }
  if (frames == 0) {
    look_for_silence();
  }
  more_staged_ = interrupted && (stage_.size() != 0 || (receive_seal_ && receive_seal_->bytes.size() != 0));
  return frames == 0 && !failure_.ok() ? -1 : frames;
}

TcpLane::Step TcpLane::take_frame(FrameReceiver& receiver) {
  if (!in_frame_) {
    if (stage_.size() < wire::frame_header_bytes) {
      return Step::need_more;
    }
    const Step step = begin_frame(receiver);
    if (!in_frame_) {
      return step;
    }
  }
  if (place_ == nullptr) {
    if (stage_.size() < header_.payload_bytes) {
      return Step::need_more;
    }
    const std::span<const std::byte> payload{stage_.data(), header_.payload_bytes};
    const Step step = finish_frame(receiver, payload);
    stage_.take(payload.size());
    return step;
  }
  const auto staged = std::min<std::size_t>(stage_.size(), header_.payload_bytes - received_);
  if (staged != 0) {
    std::memcpy(place_ + received_, stage_.data(), staged);
    stage_.take(staged);
    received_ += static_cast<std::uint32_t>(staged);
  }
  if (received_ < header_.payload_bytes) {
    return Step::need_more;
  }
  return finish_frame(receiver, {place_, header_.payload_bytes});
}

TcpLane::Step TcpLane::begin_frame(FrameReceiver& receiver) {
  header_ =
      wire::decode_frame(std::span<const std::byte, wire::frame_header_bytes>(stage_.data(), wire::frame_header_bytes));
  if (header_.magic != wire::frame_magic || header_.payload_bytes > traits_.largest_payload) {
    set_failure(fail(Code::protocol, "tcp: no frame begins with {:#04x} or has {} bytes", header_.magic,
                     header_.payload_bytes));
    return Step::failed;
  }
  if (header_.kind == goodbye_kind) {
    if (const Status sound = wire::verify_header(header_); !sound.ok()) {
      set_failure(sound.within("tcp"));
    } else {
      set_failure(fail(Code::end, "tcp: shut by the peer"));
    }
    return Step::failed;
  }
  stage_.take(wire::frame_header_bytes);
  received_ = 0;
  if (header_.payload_bytes == 0) {
    return finish_frame(receiver, {});
  }
  in_frame_ = true;
  place_ = receiver.place(header_);
  // An encrypted record must still fit after the bytes that are collected in the stage.
  if (place_ == nullptr && header_.payload_bytes > stage_.capacity - wire::record_bytes) {
    if (scratch_bytes_ < header_.payload_bytes) {
      scratch_ = std::make_unique_for_overwrite<std::byte[]>(header_.payload_bytes);
      scratch_bytes_ = header_.payload_bytes;
    }
    place_ = scratch_.get();
  }
  return Step::need_more;
}

TcpLane::Step TcpLane::finish_frame(FrameReceiver& receiver, std::span<const std::byte> payload) {
  in_frame_ = false;
  return receiver.arrived(header_, payload) ? Step::frame : Step::stop;
}

TcpLane::Fill TcpLane::fill() {
  stage_.make_room(in_frame_ && place_ == nullptr ? header_.payload_bytes : wire::frame_header_bytes);
  return receive_seal_ ? fill_sealed() : fill_plain();
}

// Receives with one system call. A short result means that the socket is empty, so no second call is needed.
TcpLane::Fill TcpLane::receive(iovec* parts, int count, std::size_t& received) {
  if (drained_) {
    return Fill::none;
  }
  std::size_t asked = 0;
  for (int index = 0; index < count; ++index) {
    asked += parts[index].iov_len;
  }
  // recv() costs less than readv(), which checks a list.
  const ssize_t bytes = os::retry_interrupted([&] {
    return count == 1 ? ::recv(socket_.number(), parts->iov_base, parts->iov_len, MSG_DONTWAIT)
                      : ::readv(socket_.number(), parts, count);
  });
  if (bytes > 0) {
    received = static_cast<std::size_t>(bytes);
    drained_ = received < asked;
    return Fill::some;
  }
  drained_ = true;
  if (bytes < 0 && errno == EAGAIN) {
    return Fill::none;
  }
  if (bytes < 0) {
    set_failure(os::socket_failure(errno, "tcp: receiving failed"));
  } else if (!found_.reset.ok()) {
    set_failure(found_.reset);
  } else if (in_frame_ || stage_.size() != 0 || (receive_seal_ && receive_seal_->bytes.size() != 0)) {
    set_failure(fail(Code::peer_lost, "tcp: the connection was closed inside a frame"));
  } else {
    set_failure(fail(Code::peer_lost, "tcp: the connection was closed without a goodbye"));
  }
  return Fill::failed;
}

TcpLane::Fill TcpLane::fill_plain() {
  std::array<iovec, 2> parts{};
  int count = 0;
  std::size_t direct = 0;
  const bool collecting = in_frame_ && place_ == nullptr;
  const bool long_ones = header_.payload_bytes >= long_payload_bytes && !collecting;
  const std::size_t staged = long_ones ? std::min(stage_.room_bytes(), stage_bytes_between_long) : stage_.room_bytes();
  if (in_frame_ && place_ != nullptr) {
    direct = header_.payload_bytes - received_;
    parts[0] = {place_ + received_, direct};
    count = 1;
  }
  parts[static_cast<std::size_t>(count++)] = {stage_.room(), staged};
  std::size_t received = 0;
  const Fill answer = receive(parts.data(), count, received);
  if (answer == Fill::some) {
    const std::size_t placed = std::min(received, direct);
    received_ += static_cast<std::uint32_t>(placed);
    stage_.end += received - placed;
  }
  return answer;
}

TcpLane::Fill TcpLane::fill_sealed() {
  Stage& sealed = receive_seal_->bytes;
  Fill opened = open_records();
  if (opened != Fill::none) {
    return opened;
  }
  if (sealed.room_bytes() < min_sealed_room_bytes) {
    sealed.make_room(sealed.capacity);
  }
  iovec part{sealed.room(), sealed.room_bytes()};
  std::size_t received = 0;
  const Fill answer = receive(&part, 1, received);
  if (answer != Fill::some) {
    return answer;
  }
  sealed.end += received;
  opened = open_records();
  return opened;
}

// Opens one record that is complete. Returns none if there is none, or no room for it.
TcpLane::Fill TcpLane::open_records() {
  Stage& sealed = receive_seal_->bytes;
  const auto length = wire::RecordSeal::record_length({sealed.data(), sealed.size()});
  if (!length.ok()) {
    set_failure(length.status().within("tcp"));
    return Fill::failed;
  }
  if (*length == 0 || *length > sealed.size()) {
    return Fill::none;
  }
  // A record that has only payload is opened directly into the payload's place.
  const bool direct = in_frame_ && place_ != nullptr && stage_.size() == 0 &&
                      wire::RecordSeal::plain_length(*length) <= header_.payload_bytes - received_;
  if (!direct) {
    stage_.make_room(stage_.size() + wire::record_plain_bytes);
    if (stage_.room_bytes() < wire::record_plain_bytes) {
      return Fill::none;
    }
  }
  const auto plain = receive_seal_->seal->open({sealed.data(), *length}, direct ? place_ + received_ : stage_.room());
  if (!plain.ok()) {
    set_failure(plain.status().within("tcp"));
    return Fill::failed;
  }
  sealed.take(*length);
  if (direct) {
    received_ += static_cast<std::uint32_t>(*plain);
  } else {
    stage_.end += *plain;
  }
  return Fill::some;
}

}  // namespace

Result<std::unique_ptr<Lane>> make_tcp_lane(os::Descriptor socket, const TcpOptions& options,
                                            const std::optional<SessionKeys>& keys, std::span<const std::byte> early) {
  constexpr std::uint32_t most_bytes = 1U << 30U;
  if (options.largest_payload == 0 || options.largest_payload > most_bytes || options.stage_bytes > most_bytes) {
    return fail(Code::limit,
                "tcp: the largest payload is {} bytes and the stage is {} bytes; each can be at most {} bytes",
                options.largest_payload, options.stage_bytes, most_bytes);
  }
  if (options.unread) {
    os::allow_unread(socket);
  }
  auto lane = std::make_unique<TcpLane>(std::move(socket), options);
  if (keys) {
    COUPLET_TRY(lane->encrypt(*keys));
  }
  COUPLET_TRY(lane->take_early(early));
  return std::unique_ptr<Lane>(std::move(lane));
}

Result<std::unique_ptr<TcpListener>> TcpListener::open(const os::Endpoint& endpoint, const os::SocketOptions& options) {
  COUPLET_TRY_VALUE(os::Descriptor socket, os::listen_tcp(endpoint, max_waiting_callers));
  COUPLET_TRY_VALUE(const os::Endpoint bound, os::local_endpoint(socket));
  return std::unique_ptr<TcpListener>(new TcpListener(std::move(socket), bound, options));
}

Result<std::unique_ptr<TcpConnector>> TcpConnector::open(const os::Endpoint& target, const os::Endpoint* from,
                                                         const os::SocketOptions& options) {
  std::optional<os::Endpoint> source;
  if (from != nullptr) {
    source = *from;
    source->port = 0;
  }
  COUPLET_TRY_VALUE(os::Descriptor socket, os::connect_tcp(target, source ? &*source : nullptr, options));
  return std::unique_ptr<TcpConnector>(new TcpConnector(std::move(socket), target));
}

Result<os::Descriptor> TcpConnector::poll() {
  COUPLET_TRY(os::connect_result(socket_, target_));
  return std::move(socket_);
}

}  // namespace couplet::link
