// One reader's part of one writer's series, as the relay pushes it: a state that yields one frame after the other.
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

// Is told when a subscription that had nothing to push may have something again.
class Activation {
 public:
  virtual ~Activation() = default;
  virtual void activate(Subscription& subscription) = 0;
};

class Subscription {
 public:
  // Pieces are packed into memory of at most piece_bytes. activation: outlives this.
  Subscription(Activation& activation, channel::Channel& channel, std::uint32_t number, std::uint64_t piece_bytes)
      : activation_(activation), channel_(channel), number_(number), piece_bytes_(piece_bytes) {}
  // No frame may be on its way.
  ~Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // Before the first push: what is subscribed to, or why not.
  void refuse(Status why) { refusal_ = std::move(why); }
  // limit: so much cannot be sent. Each wish is one of a field that is there.
  Status accept(std::shared_ptr<ServedFile> served, const std::vector<series::FieldWish>& wishes, std::uint64_t first,
                std::uint64_t window);
  // What is passed over when the reader is slower than the writer: nothing (it holds), what would soon be overwritten, or all
  // but the newest step.
  enum class Pace : std::uint8_t { every_step, follow, latest };
  void set_pace(Pace pace) { pace_ = pace; }
  // A hold in the file, from here on the subscription's; ended by give_up().
  void hold(std::shared_ptr<ServedFile> served, const series::Hold& hold);
  void give_up();
  [[nodiscard]] const series::Hold& hold() const { return hold_; }
  // The hold stands, and is no longer the subscription's.
  series::Hold leave_hold() { return std::exchange(hold_, {}); }

  Status credit(std::uint64_t limit, std::uint64_t consumed);
  void end() { over_ = true; }
  [[nodiscard]] bool over() const { return over_; }

  // Sends one frame, if one is due and there is room. False: nothing to do now.
  bool push();
  // Would push() send? A few loads.
  [[nodiscard]] bool ready() const;
  // Over, and no frame is on its way.
  [[nodiscard]] bool finished() const { return over_ && frames_[0].free && frames_[1].free; }
  // All that there will ever be was sent.
  [[nodiscard]] bool told_all() const { return over_ || told_end_; }
  // The next step is wanted, and not there yet.
  [[nodiscard]] bool waits() const;

  [[nodiscard]] channel::Channel& channel() const { return channel_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const std::shared_ptr<ServedFile>& served() const { return served_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

  std::uint64_t pushed_steps = 0;
  std::uint64_t pushed_bytes = 0;
  bool active = false;  // in the list of those that may have something to push; its owner's

 private:
  struct Frame {
    channel::Outgoing outgoing;
    std::vector<std::byte> memory;
    Subscription* subscription = nullptr;
    bool free = true;
  };
  enum class Due : std::uint8_t { nothing, refusal, acceptance, eviction, step, news, end };
  // What of a box of the writer is sent: the bytes [offset_bytes, offset_bytes + plan.bytes()) of a step.
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
  // A follower that is about to lose steps passes them over in time, and says so. False: it need not.
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
  std::uint64_t step_bytes_ = 0;  // as sent
  series::Hold hold_;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;    // ordinal to push
  std::uint64_t limit_ = 0;   // ordinals below may be pushed
  std::uint64_t offset_ = 0;  // in the step that is being pushed
  Pace pace_ = Pace::every_step;
  std::uint64_t published_at_begin_ = 0;  // of the step that is being pushed
  std::uint64_t margin_ = 1;              // a follower keeps so far away from what is overwritten next
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
