// One reader's part of one writer's series, as the relay sends it: a state that yields one frame after the other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "channel/channel.hpp"
#include "layout/copy_plan.hpp"
#include "relay/served_file.hpp"
#include "series/part.hpp"
#include "series/slot_protocol.hpp"
#include "wire/relay_messages.hpp"

namespace couplet::relay {

class Subscription;

// Is told that a subscription which had nothing to send may have something again.
class Activation {
 public:
  virtual ~Activation() = default;
  virtual void activate(Subscription& subscription) = 0;
};

class Subscription {
 public:
  // Pieces are packed into memory of at most piece_bytes. `activation` outlives this object.
  Subscription(Activation& activation, channel::Channel& channel, std::uint32_t number, std::uint64_t piece_bytes)
      : activation_(activation), channel_(channel), number_(number), piece_bytes_(piece_bytes) {}
  // No frame may be under way.
  ~Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // Before the first push: says what is subscribed to, or why not.
  void refuse(Status why) { refusal_ = std::move(why); }
  // Returns limit if so much cannot be sent. Each wish names a field that exists.
  Status accept(std::shared_ptr<ServedFile> served, const std::vector<series::FieldWish>& wishes, std::uint64_t first,
                std::uint64_t window);
  // Says which steps are skipped if the reader is slower than the writer: none (it holds), those that would soon be
  // overwritten, or all but the newest.
  enum class Pace : std::uint8_t { every_step, follow, latest };
  void set_pace(Pace pace) { pace_ = pace; }
  // Takes over a hold in the file, which give_up() ends.
  void hold(std::shared_ptr<ServedFile> served, const series::Hold& hold);
  void give_up();
  [[nodiscard]] const series::Hold& hold() const { return hold_; }
  // Gives the hold away: it stays valid, and no longer belongs to the subscription.
  series::Hold leave_hold() { return std::exchange(hold_, {}); }

  Status credit(std::uint64_t limit, std::uint64_t consumed);
  void end() { over_ = true; }
  [[nodiscard]] bool over() const { return over_; }

  // Sends one frame, if one is due and there is room. Returns false if there is nothing to do now.
  bool push();
  // Would push() send? It costs a few loads.
  [[nodiscard]] bool ready() const;
  // Returns true if it has ended and no frame is under way.
  [[nodiscard]] bool finished() const { return over_ && frames_[0].free && frames_[1].free; }
  // Returns true if all that there will ever be was sent.
  [[nodiscard]] bool told_all() const { return over_ || told_end_; }
  // Returns true if the next step is wanted and not there yet.
  [[nodiscard]] bool waits() const;

  [[nodiscard]] channel::Channel& channel() const { return channel_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const std::shared_ptr<ServedFile>& served() const { return served_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

  std::uint64_t pushed_steps = 0;
  std::uint64_t pushed_bytes = 0;
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
  // Skips steps that a follower is about to lose, and reports it. Returns false if this is not needed.
  [[nodiscard]] bool jump(Frame& frame);
  void push_piece(Frame& frame);
  void push_lost(Frame& frame, bool torn);
  [[nodiscard]] std::uint64_t published() const;
  [[nodiscard]] std::uint64_t oldest() const;
  [[nodiscard]] bool closed() const;

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
  std::uint64_t published_at_begin_ = 0;  // for the step that is being sent
  std::uint64_t margin_ = 1;              // a follower keeps this distance from what is overwritten next
  std::int64_t step_ = 0;
  std::uint64_t timed_ = UINT64_MAX;  // the ordinal whose time was sent
  std::uint64_t told_published_ = 0;
  Status refusal_;
  bool told_accepted_ = false;
  bool told_evicted_ = false;
  bool told_end_ = false;
  bool over_ = false;
  std::array<Frame, 2> frames_;
};

}  // namespace couplet::relay
