// Subscription: sends one reader the part of one writer's series that it wants, one frame after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "channel/channel.hpp"
#include "layout/copy_plan.hpp"
#include "relay/common_steps.hpp"
#include "relay/sent_share.hpp"
#include "relay/served_file.hpp"
#include "series/needed_steps.hpp"
#include "series/part.hpp"
#include "series/slot_protocol.hpp"
#include "wire/relay_messages.hpp"

namespace couplet::relay {

class Subscription;

// Receives the news that a subscription which had nothing to send may have something again.
class Activation {
 public:
  virtual ~Activation() = default;
  virtual void activate(Subscription& subscription) = 0;
};

// What was sent to readers.
struct Pushed {
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;
};

class Subscription {
 public:
  // Frames that are sent and not yet acknowledged. Their memory is bounded by this number of pieces.
  static constexpr std::size_t max_frames = 8;
  // The same bound for a follower that is sent a share of the steps. It is lower, so that steps that are late over this
  // link do not delay what is under way to the follower over its other links.
  static constexpr std::size_t max_frames_of_share = 2;

  // Pieces are packed into memory of at most piece_bytes. `activation` outlives this object.
  Subscription(Activation& activation, channel::Channel& channel, std::uint32_t number, std::uint64_t piece_bytes)
      : activation_(activation), channel_(channel), number_(number), piece_bytes_(piece_bytes) {}
  // REQUIRES: no frame is being sent.
  ~Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // To be called before the first push: refuse() says why there is no subscription, accept() what is subscribed to.
  void refuse(Status why) { refusal_ = std::move(why); }
  // Returns limit if a step is too large to be sent. REQUIRES: each selection names a field that exists.
  Status accept(std::shared_ptr<ServedFile> served, const std::vector<series::FieldSelection>& selections,
                std::uint64_t first, std::uint64_t window);
  // Says which steps are skipped if the reader is slower than the writer: none (it holds), those that would soon be
  // overwritten, or all but the newest.
  enum class Pace : std::uint8_t { every_step, follow, latest };
  // After accept(). common: leaves out what the other subscriptions of its reader leave out; nullptr: it has none.
  // jump_window: number of ordinals from the end of a jump on that may be sent before credit for them has come.
  void set_pace(Pace pace, std::shared_ptr<CommonSteps> common, std::uint64_t jump_window);
  // Takes over a hold in the file, which give_up() ends.
  void hold(std::shared_ptr<ServedFile> served, const series::Hold& hold);
  void give_up();
  [[nodiscard]] const series::Hold& hold() const { return hold_; }
  // Returns the hold, which stays valid but no longer belongs to the subscription.
  series::Hold leave_hold() { return std::exchange(hold_, {}); }

  Status credit(std::uint64_t limit, std::uint64_t consumed, const wire::WantedSteps& wanted);
  void end();
  [[nodiscard]] bool over() const { return over_; }

  // Sends one frame, if one is due and there is room. Returns false if there is nothing to do now.
  bool push();
  // Returns true if push() would send. It costs a few loads.
  [[nodiscard]] bool ready() const;
  // Returns true if it has ended and no frame is being sent.
  [[nodiscard]] bool finished() const {
    return over_ && std::all_of(frames_.begin(), frames_.end(), [](const Frame& each) { return each.free; });
  }
  // Returns true if all that there will ever be was sent.
  [[nodiscard]] bool told_all() const { return over_ || told_end_; }
  // Returns true if the next step is wanted and not there yet.
  [[nodiscard]] bool waits() const;

  [[nodiscard]] channel::Channel& channel() const { return channel_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const std::shared_ptr<ServedFile>& served() const { return served_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }
  // Returns true if a part of step next() was sent.
  [[nodiscard]] bool sending() const { return offset_ > 0; }
  // Returns true if step next() is there and may be sent.
  [[nodiscard]] bool has_step() const;

  Pushed pushed;
  // Whether it is in its owner's list of subscriptions that may have something to send.
  bool active = false;

 private:
  struct Frame {
    channel::Outgoing outgoing;
    std::vector<std::byte> memory;
    Subscription* subscription = nullptr;
    bool free = true;
  };
  enum class Due : std::uint8_t { nothing, refusal, acceptance, eviction, step, news, end };
  // The part of a writer's box that is sent: the bytes [offset_bytes, offset_bytes + plan.bytes()) of a step.
  struct Piece {
    std::uint64_t offset_bytes = 0;
    layout::CopyPlan plan;
  };

  [[nodiscard]] Due due() const;
  void send(Frame& frame, wire::RelayKind kind, std::uint64_t first, std::uint64_t second, std::int32_t tag,
            std::size_t bytes);
  void push_refusal(Frame& frame);
  void push_acceptance(Frame& frame);
  [[nodiscard]] bool begin_step(Frame& frame);
  void pack(std::byte* target, std::uint64_t bytes) const;
  // Returns the ordinal with which a follower goes on: next_, or a later one if it is about to lose that.
  [[nodiscard]] std::uint64_t safe_next();
  // Says that the ordinals from next_ on and below `end` will not come, and goes on with `end`.
  void leave_out(Frame& frame, std::uint64_t end, bool torn = false);
  void push_piece(Frame& frame);
  void push_lost(Frame& frame, bool torn);

  Activation& activation_;
  channel::Channel& channel_;
  std::uint32_t number_;
  std::uint64_t piece_bytes_;
  std::shared_ptr<ServedFile> served_;
  std::vector<Piece> pieces_;
  std::uint64_t step_bytes_ = 0;  // as it is sent
  series::Hold hold_;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;    // the ordinal to send
  std::uint64_t limit_ = 0;   // ordinals below this may be sent
  std::uint64_t offset_ = 0;  // in the step that is being sent
  Pace pace_ = Pace::every_step;
  std::shared_ptr<CommonSteps> common_;  // nullptr: it shares no steps
  struct Progress {
    std::uint64_t published_at_begin = 0;  // for the step that is being sent
    std::uint64_t margin = 1;              // a follower keeps this distance from what is overwritten next
    SentShare share;                       // the part of the steps for which the reader has asked
    series::NeededSteps needed;            // what the reader has said
    std::uint64_t credit = 0;              // the limit that the reader has given; a jump may have moved limit_ on
    std::uint64_t jump_window = 0;
    std::uint64_t steps_at_wait = UINT64_MAX;  // pushed.steps when a jump last led beyond the credit
  };
  Progress progress_;
  std::int64_t step_ = 0;
  std::uint64_t timed_ = UINT64_MAX;  // the last ordinal whose time was sent
  std::uint64_t told_published_ = 0;
  Status refusal_;
  bool told_accepted_ = false;
  bool told_evicted_ = false;
  bool told_end_ = false;
  bool over_ = false;
  std::array<Frame, max_frames> frames_;
};

}  // namespace couplet::relay
