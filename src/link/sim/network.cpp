#include "link/sim/network.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "base/assert.hpp"

namespace couplet::link {

namespace {

enum class Event : std::uint8_t { connected, pushed, delivered, shut, parted, healed, killed, failed, cut };
constexpr std::array<std::string_view, 9> event_names = {"connected", "pushed", "delivered", "shut", "parted",
                                                         "healed",    "killed", "failed",    "cut"};

// Bytes that arrive together.
struct Piece {
  std::uint64_t arrival_ns = 0;
  std::vector<std::byte> bytes;
  std::size_t read = 0;
};

// One direction of a lane.
struct Stream {
  SimNetwork::Endpoint source = 0;
  SimNetwork::Endpoint target = 0;
  std::deque<Piece> pieces;
  std::uint64_t buffered_bytes = 0;
  std::uint64_t wire_free_ns = 0;     // the time by which the last byte has been sent
  std::uint64_t last_arrival_ns = 0;  // keeps the order
  bool shut = false;                  // by the source
  std::uint64_t end_ns = 0;           // when the target sees that
  // Without shut: the lane was destroyed, or the endpoint killed.
  bool source_gone = false;
  bool target_gone = false;
};

}  // namespace

struct SimNetwork::State {
  State(std::uint64_t seed, const SimOptions& chosen) : options(chosen), random(seed) {}

  SimOptions options;
  Random random;
  std::uint64_t now_ns = 0;
  std::uint64_t hash = 0xCBF29CE484222325U;
  bool keep = false;
  std::vector<std::string> lines;
  std::vector<std::weak_ptr<Stream>> streams;
  std::map<std::pair<Endpoint, Endpoint>, std::uint64_t> parted;  // with the time since when
  std::set<Endpoint> dead;

  [[nodiscard]] bool is_parted(Endpoint first, Endpoint second) const {
    return parted.contains(std::minmax(first, second));
  }
  // Returns the time at which the silence between two parted endpoints becomes a loss; UINT64_MAX if they are not
  // parted.
  [[nodiscard]] std::uint64_t silence_ends_ns(Endpoint first, Endpoint second) const {
    const auto found = parted.find(std::minmax(first, second));
    return found == parted.end() ? UINT64_MAX : found->second + options.silence_limit_ns;
  }

  void note(Event event, Endpoint first, Endpoint second, std::uint64_t number) {
    for (const std::uint64_t value : {now_ns, static_cast<std::uint64_t>(event), static_cast<std::uint64_t>(first),
                                      static_cast<std::uint64_t>(second), number}) {
      hash = Random(hash ^ value).next();
    }
    if (keep) {
      lines.push_back(fmt::format("{:>12} ns  {} {} -> {} ({})", now_ns, event_names[static_cast<std::size_t>(event)],
                                  first, second, number));
    }
  }

  // Returns how many of `bytes` go this time.
  [[nodiscard]] std::uint64_t some(std::uint64_t bytes) {
    return bytes > 1 && random.chance(options.partial) ? random.between(1, bytes) : bytes;
  }

  // What had not arrived is lost, from some byte on.
  void lose_some(Stream& stream) {
    while (!stream.pieces.empty() && stream.pieces.back().arrival_ns > now_ns && random.chance(0.5)) {
      Piece& piece = stream.pieces.back();
      const std::size_t kept = random.below(piece.bytes.size());
      stream.buffered_bytes -= piece.bytes.size() - kept;
      piece.bytes.resize(kept);
      if (kept > 0) {
        break;
      }
      stream.pieces.pop_back();
    }
  }
  void give_up(Stream& stream) {
    stream.source_gone = true;
    stream.end_ns = std::max(stream.last_arrival_ns, now_ns) + options.death_notice_ns;
  }
};

namespace {

class SimLane final : public Lane {
 public:
  SimLane(std::shared_ptr<SimNetwork::State> network, std::shared_ptr<Stream> out, std::shared_ptr<Stream> in)
      : network_(std::move(network)), out_(std::move(out)), in_(std::move(in)) {
    traits_ = {.name = network_->options.name,
               .checked = true,
               .checked_payload_bytes = UINT32_MAX,
               .same_memory = false,
               .largest_payload = network_->options.largest_payload,
               .eager_bytes = network_->options.eager_bytes,
               .may_break = true};
  }
  ~SimLane() override {
    in_->target_gone = true;
    if (!out_->shut && !out_->source_gone) {
      network_->give_up(*out_);
    }
  }

  [[nodiscard]] const LaneTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] const Status& failure() const noexcept override { return failure_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override;
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) override;
  [[nodiscard]] bool readable() const noexcept override;
  [[nodiscard]] bool writable() const noexcept override {
    return out_->buffered_bytes < network_->options.buffer_bytes || out_->target_gone;
  }
  void shut() noexcept override;

 private:
  // poll() goes on after a failed push, since what had arrived is still to be delivered.
  int failed(Code code, std::string text, bool of_push = false) {
    if (!of_push || failure_.ok()) {
      failure_ = {code, std::move(text)};
    }
    poll_failed_ = poll_failed_ || !of_push;
    network_->note(Event::failed, in_->target, in_->source,
                   static_cast<std::uint64_t>(static_cast<std::int64_t>(code)));
    return -1;
  }
  [[nodiscard]] bool source_ended() const { return (in_->shut || in_->source_gone) && arrives_now(in_->end_ns); }
  [[nodiscard]] bool silent_for_long() const {
    return network_->now_ns >= network_->silence_ends_ns(in_->source, in_->target);
  }
  [[nodiscard]] bool own_end_dead() const { return network_->dead.contains(in_->target); }
  [[nodiscard]] bool arrives_now(std::uint64_t moment_ns) const {
    return moment_ns <= network_->now_ns && !network_->is_parted(in_->source, in_->target);
  }
  // Copies arrived bytes: fewer than asked for if there are not enough.
  std::size_t read(std::byte* target, std::size_t bytes);
  [[nodiscard]] bool read_frame(FrameReceiver& receiver);

  std::shared_ptr<SimNetwork::State> network_;
  std::shared_ptr<Stream> out_;
  std::shared_ptr<Stream> in_;
  LaneTraits traits_;
  Status failure_;
  bool poll_failed_ = false;
  // The frame that is being read.
  std::array<std::byte, wire::frame_header_bytes> image_{};
  std::size_t image_bytes_ = 0;
  wire::FrameHeader header_;
  std::size_t payload_bytes_ = 0;
  std::vector<std::byte> own_memory_;
};

std::int64_t SimLane::push(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t offset) {
  COUPLET_ASSERT(header.payload_bytes == payload.size() && payload.size() <= traits_.largest_payload);
  if (!failure_.ok()) {
    return -1;
  }
  if (own_end_dead()) {
    return failed(Code::peer_lost, fmt::format("endpoint {} is dead", out_->source), true);
  }
  if (out_->shut) {
    return failed(Code::state, "the lane was shut", true);
  }
  if (out_->target_gone && source_ended()) {
    return failed(Code::peer_lost, fmt::format("endpoint {} no longer listens", out_->target), true);
  }
  const std::uint64_t buffer_bytes = network_->options.buffer_bytes;
  const std::uint64_t room = buffer_bytes - std::min(buffer_bytes, out_->buffered_bytes);
  const std::uint64_t bytes = std::min(room, wire::frame_header_bytes + payload.size() - offset);
  if (bytes == 0) {
    return 0;
  }
  if (out_->source_gone) {
    return static_cast<std::int64_t>(bytes);  // the lane was cut, and this side has yet to learn it
  }
  std::array<std::byte, wire::frame_header_bytes> image;
  wire::encode_frame(header, image);
  Piece piece;
  piece.bytes.resize(network_->some(bytes));
  for (std::size_t index = 0; index < piece.bytes.size(); ++index) {
    const std::uint64_t position = offset + index;
    if (position < image.size()) {
      piece.bytes[index] = image[position];
    } else {
      std::memcpy(&piece.bytes[index], payload.data() + (position - image.size()), piece.bytes.size() - index);
      break;
    }
  }
  const auto& options = network_->options;
  const std::uint64_t leaves = std::max(network_->now_ns, out_->wire_free_ns) +
                               (options.bytes_per_us == 0 ? 0 : piece.bytes.size() * 1000 / options.bytes_per_us);
  out_->wire_free_ns = leaves;
  piece.arrival_ns =
      std::max(out_->last_arrival_ns, leaves + options.delay_ns + network_->random.below(options.jitter_ns + 1));
  out_->last_arrival_ns = piece.arrival_ns;
  const auto taken = static_cast<std::int64_t>(piece.bytes.size());
  out_->buffered_bytes += piece.bytes.size();
  out_->pieces.push_back(std::move(piece));
  network_->note(Event::pushed, out_->source, out_->target, static_cast<std::uint64_t>(taken));
  return taken;
}

std::size_t SimLane::read(std::byte* target, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes && !in_->pieces.empty() && arrives_now(in_->pieces.front().arrival_ns)) {
    Piece& piece = in_->pieces.front();
    const std::size_t count = std::min(bytes - done, piece.bytes.size() - piece.read);
    std::memcpy(target + done, piece.bytes.data() + piece.read, count);
    done += count;
    piece.read += count;
    in_->buffered_bytes -= count;
    if (piece.read == piece.bytes.size()) {
      in_->pieces.pop_front();
    }
  }
  return done;
}

// Returns true if a whole frame is in header_ and place_.
bool SimLane::read_frame(FrameReceiver& receiver) {
  if (image_bytes_ < image_.size()) {
    image_bytes_ += read(image_.data() + image_bytes_, image_.size() - image_bytes_);
    if (image_bytes_ < image_.size()) {
      return false;
    }
    header_ = wire::decode_frame(image_);
    if (header_.payload_bytes > traits_.largest_payload) {
      failed(Code::protocol,
             fmt::format("a frame of {} bytes, above the limit of {}", header_.payload_bytes, traits_.largest_payload));
      return false;
    }
    payload_bytes_ = 0;
    place_ = header_.payload_bytes == 0 ? nullptr : receiver.place(header_);
    if (place_ == nullptr) {
      own_memory_.resize(header_.payload_bytes);
      place_ = own_memory_.data();
    }
  }
  payload_bytes_ += read(place_ + payload_bytes_, header_.payload_bytes - payload_bytes_);
  return payload_bytes_ == header_.payload_bytes;
}

int SimLane::poll(FrameReceiver& receiver, int budget) {
  if (poll_failed_) {
    return -1;
  }
  if (own_end_dead()) {
    return failed(Code::peer_lost, fmt::format("endpoint {} is dead", in_->target));
  }
  int frames = 0;
  while (frames < budget && read_frame(receiver)) {
    image_bytes_ = 0;
    ++frames;
    network_->note(Event::delivered, in_->source, in_->target, header_.sequence);
    if (!receiver.arrived(header_, {place_, header_.payload_bytes})) {
      return frames;
    }
  }
  if (frames > 0 || poll_failed_) {
    return frames > 0 ? frames : -1;
  }
  if (silent_for_long()) {
    return failed(Code::peer_lost, fmt::format("no sign of endpoint {} for {} ms", in_->source,
                                               network_->options.silence_limit_ns / 1'000'000));
  }
  if (in_->pieces.empty() && source_ended()) {
    if (in_->shut && image_bytes_ == 0) {
      return failed(Code::end, fmt::format("endpoint {} has ended", in_->source));
    }
    return failed(Code::peer_lost, fmt::format("endpoint {} is gone{}", in_->source,
                                               image_bytes_ == 0 ? "" : " in the middle of a frame"));
  }
  return 0;
}

bool SimLane::readable() const noexcept {
  if (poll_failed_ || own_end_dead() || silent_for_long()) {
    return true;
  }
  return in_->pieces.empty() ? source_ended() : arrives_now(in_->pieces.front().arrival_ns);
}

void SimLane::shut() noexcept {
  if (!out_->shut && !out_->source_gone) {
    out_->shut = true;
    out_->end_ns = std::max(out_->last_arrival_ns, network_->now_ns + network_->options.delay_ns);
    network_->note(Event::shut, out_->source, out_->target, 0);
  }
}

}  // namespace

SimNetwork::SimNetwork(std::uint64_t seed, SimOptions options) : state_(std::make_shared<State>(seed, options)) {}

SimNetwork::~SimNetwork() = default;

SimNetwork::LanePair SimNetwork::connect(Endpoint first, Endpoint second) {
  auto there = std::make_shared<Stream>();
  auto back = std::make_shared<Stream>();
  there->source = back->target = first;
  there->target = back->source = second;
  state_->streams.emplace_back(there);
  state_->streams.emplace_back(back);
  state_->note(Event::connected, first, second, 0);
  return {std::make_unique<SimLane>(state_, there, back), std::make_unique<SimLane>(state_, back, there)};
}

std::uint64_t SimNetwork::now_ns() const noexcept {
  return state_->now_ns;
}

void SimNetwork::advance(std::uint64_t duration_ns) {
  state_->now_ns += duration_ns;
}

bool SimNetwork::advance_to_next() {
  std::erase_if(state_->streams, [](const std::weak_ptr<Stream>& stream) { return stream.expired(); });
  std::uint64_t next = UINT64_MAX;
  for (const auto& weak : state_->streams) {
    const auto stream = weak.lock();
    if (state_->is_parted(stream->source, stream->target)) {
      const std::uint64_t loss_ns = state_->silence_ends_ns(stream->source, stream->target);
      next = loss_ns > state_->now_ns ? std::min(next, loss_ns) : next;
      continue;
    }
    for (const Piece& piece : stream->pieces) {  // in order of arrival
      if (piece.arrival_ns > state_->now_ns) {
        next = std::min(next, piece.arrival_ns);
        break;
      }
    }
    if ((stream->shut || stream->source_gone) && stream->end_ns > state_->now_ns) {
      next = std::min(next, stream->end_ns);
    }
  }
  if (next == UINT64_MAX) {
    return false;
  }
  state_->now_ns = next;
  return true;
}

void SimNetwork::part(Endpoint first, Endpoint second) {
  state_->parted.emplace(std::minmax(first, second), state_->now_ns);
  state_->note(Event::parted, first, second, 0);
}

void SimNetwork::heal(Endpoint first, Endpoint second) {
  state_->parted.erase(std::minmax(first, second));
  state_->note(Event::healed, first, second, 0);
}

void SimNetwork::cut(Endpoint first, Endpoint second) {
  state_->note(Event::cut, first, second, 0);
  for (const auto& weak : state_->streams) {
    const auto stream = weak.lock();
    if (stream && std::minmax(stream->source, stream->target) == std::minmax(first, second) && !stream->source_gone) {
      state_->lose_some(*stream);
      stream->shut = false;
      stream->target_gone = true;
      state_->give_up(*stream);
    }
  }
}

void SimNetwork::kill(Endpoint endpoint) {
  if (!state_->dead.insert(endpoint).second) {
    return;
  }
  state_->note(Event::killed, endpoint, endpoint, 0);
  for (const auto& weak : state_->streams) {
    const auto stream = weak.lock();
    if (!stream) {
      continue;
    }
    if (stream->target == endpoint) {
      stream->target_gone = true;
    }
    if (stream->source == endpoint && !stream->source_gone) {
      // The bytes that had not left the dead host's buffers when it died are lost, from some byte on.
      state_->lose_some(*stream);
      stream->shut = false;
      state_->give_up(*stream);
    }
  }
}

bool SimNetwork::alive(Endpoint endpoint) const {
  return !state_->dead.contains(endpoint);
}

Random& SimNetwork::random() noexcept {
  return state_->random;
}

std::uint64_t SimNetwork::trace_hash() const noexcept {
  return state_->hash;
}

void SimNetwork::keep_trace(bool keep) {
  state_->keep = keep;
}

const std::vector<std::string>& SimNetwork::trace() const noexcept {
  return state_->lines;
}

}  // namespace couplet::link
