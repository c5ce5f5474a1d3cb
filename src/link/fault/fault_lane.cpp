#include "link/fault/fault_lane.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.hpp"

namespace couplet::link {

namespace {

struct Held {
  wire::FrameHeader header;
  std::vector<std::byte> payload;
};

class FaultLane final : public Lane, private FrameReceiver {
 public:
  FaultLane(std::unique_ptr<Lane> lane, const FaultOptions& options, std::uint64_t seed, FaultCounts* counts)
      : lane_(std::move(lane)), options_(options), random_(seed), counts_(counts == nullptr ? &own_counts_ : counts) {
    traits_ = lane_->traits();
    traits_.name = options_.name;
    traits_.checked = true;
    traits_.checked_payload_bytes = UINT32_MAX;
    traits_.same_memory = false;
    traits_.may_break = true;
  }

  [[nodiscard]] const LaneTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override {
    return lane_ ? lane_->push(header, payload, offset) : -1;
  }
  [[nodiscard]] int poll(FrameReceiver& receiver, int budget) override;
  [[nodiscard]] bool readable() const noexcept override { return !lane_ || !held_.empty() || lane_->readable(); }
  [[nodiscard]] bool writable() const noexcept override { return !lane_ || lane_->writable(); }
  [[nodiscard]] int descriptor() const noexcept override { return lane_ ? lane_->descriptor() : -1; }
  [[nodiscard]] bool want_write() const noexcept override { return lane_ && lane_->want_write(); }
  [[nodiscard]] bool joined() const noexcept override { return !lane_ || lane_->joined(); }
  [[nodiscard]] Status refusal() const override { return lane_ ? lane_->refusal() : Status(); }
  [[nodiscard]] bool leave_behind() noexcept override { return !lane_ || lane_->leave_behind(); }
  void take_back(const TakeBack& take) override {
    if (lane_) {
      lane_->take_back(take);
    }
  }
  void look_soon() noexcept override {
    if (lane_) {
      lane_->look_soon();
    }
  }
  void shut() noexcept override {
    if (lane_) {
      lane_->shut();
    }
  }
  [[nodiscard]] const Status& failure() const noexcept override { return lane_ ? lane_->failure() : death_; }

 private:
  std::byte* place(const wire::FrameHeader& header) override {
    // Both ways of the wrapped lane are used.
    if (random_.chance(0.5)) {
      return nullptr;
    }
    placed_.resize(header.payload_bytes);
    return placed_.data();
  }
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override;
  void deliver(wire::FrameHeader header, std::vector<std::byte> payload);
  bool give(const wire::FrameHeader& header, std::span<const std::byte> payload);
  void give_held(int budget);
  void damage(wire::FrameHeader& header, std::vector<std::byte>& payload);
  [[nodiscard]] bool alive() const noexcept { return delivered_ < options_.die_after_frames; }

  std::unique_ptr<Lane> lane_;
  FaultOptions options_;
  Random random_;
  FaultCounts own_counts_;
  FaultCounts* counts_;
  LaneTraits traits_;
  Status death_;
  std::uint64_t delivered_ = 0;
  std::deque<Held> held_;     // delayed frames, and those that came after them
  std::uint64_t waits_ = 0;   // polls until the first of them is delivered
  std::optional<Held> swap_;  // is delivered after the next frame
  std::vector<std::byte> placed_;
  FrameReceiver* receiver_ = nullptr;
  int given_ = 0;         // in this poll
  bool stopped_ = false;  // the receiver has told this end to stop
};

// Gives a frame to the receiver. Returns false if the receiver tells this end to stop, or this end is dead.
bool FaultLane::give(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (stopped_ || !alive()) {
    return false;
  }
  ++delivered_;
  ++given_;
  std::byte* const place =
      header.payload_bytes == payload.size() && !payload.empty() ? receiver_->place(header) : nullptr;
  if (place != nullptr) {
    std::memcpy(place, payload.data(), payload.size());
    payload = {place, payload.size()};
  }
  stopped_ = !receiver_->arrived(header, payload);
  return !stopped_ && alive();
}

void FaultLane::damage(wire::FrameHeader& header, std::vector<std::byte>& payload) {
  if (random_.chance(options_.corrupt_header)) {
    std::array<std::byte, wire::frame_header_bytes> image;
    wire::encode_frame(header, image);
    image[random_.below(image.size())] ^= static_cast<std::byte>(1U << random_.below(8));
    header = wire::decode_frame(image);
    ++counts_->corrupted;
  }
  if (!payload.empty() && random_.chance(options_.corrupt_payload)) {
    payload[random_.below(payload.size())] ^= static_cast<std::byte>(1U << random_.below(8));
    ++counts_->corrupted;
  }
  if (!payload.empty() && random_.chance(options_.truncate)) {
    payload.resize(random_.below(payload.size()));
    ++counts_->truncated;
  }
}

// Delivers a frame that is no longer delayed.
void FaultLane::deliver(wire::FrameHeader header, std::vector<std::byte> payload) {
  if (random_.chance(options_.drop)) {
    ++counts_->dropped;
    return;
  }
  damage(header, payload);
  const bool twice = random_.chance(options_.duplicate);
  counts_->duplicated += twice ? 1 : 0;
  if (!swap_ && random_.chance(options_.swap)) {
    swap_ = Held{header, std::move(payload)};
    return;
  }
  give(header, payload);
  if (twice) {
    give(header, payload);
  }
  if (swap_) {
    const Held second = std::move(*swap_);
    swap_.reset();
    ++counts_->swapped;
    give(second.header, second.payload);
  }
}

bool FaultLane::arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  std::vector<std::byte> copy(payload.begin(), payload.end());
  if (held_.empty() && random_.chance(options_.delay)) {
    waits_ = random_.between(1, options_.longest_delay_polls);
    ++counts_->delayed;
  }
  if (waits_ > 0 || !held_.empty()) {
    held_.push_back({header, std::move(copy)});
    return true;
  }
  deliver(header, std::move(copy));
  return !stopped_ && alive();
}

void FaultLane::give_held(int budget) {
  if (waits_ > 0 && --waits_ > 0) {
    return;
  }
  while (!held_.empty() && given_ < budget && !stopped_ && alive()) {
    Held frame = std::move(held_.front());
    held_.pop_front();
    deliver(frame.header, std::move(frame.payload));
  }
}

int FaultLane::poll(FrameReceiver& receiver, int budget) {
  if (!lane_) {
    return -1;
  }
  receiver_ = &receiver;
  given_ = 0;
  stopped_ = false;
  give_held(budget);
  int answer = 0;
  if (given_ < budget && !stopped_ && alive()) {
    answer = lane_->poll(*this, budget - given_);
  }
  // No frame follows, so the swapped one is only late.
  if (answer < 0 && held_.empty() && swap_) {
    const Held last = std::move(*swap_);
    swap_.reset();
    give(last.header, last.payload);
  }
  if (!alive()) {
    ++counts_->died;
    death_ = fail(Code::peer_lost, "this end of the lane was killed after {} frames", delivered_);
    lane_.reset();
    return given_ > 0 ? given_ : -1;
  }
  return given_ == 0 && answer < 0 && held_.empty() ? -1 : given_;
}

}  // namespace

std::unique_ptr<Lane> make_fault_lane(std::unique_ptr<Lane> lane, const FaultOptions& options, std::uint64_t seed,
                                      FaultCounts* counts) {
  return std::make_unique<FaultLane>(std::move(lane), options, seed, counts);
}

}  // namespace couplet::link
