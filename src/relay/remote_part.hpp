// One writer rank's slots in this process: the image of a series file, filled by what the relay sends.
//
// All of its state outlives a read: the subscription, the credit that was given, and what has arrived, also of a step
// that is only partly there. A read only checks the slots. So a read that times out costs nothing, and the next one
// finds what has come meanwhile, even if each has a timeout of 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "relay/carried_share.hpp"
#include "relay/line.hpp"
#include "relay/owed_ends.hpp"
#include "relay/remote.hpp"
#include "series/part.hpp"

namespace couplet::relay {

class RemotePart final : public series::Part {
 public:
  // What is subscribed to, for the first time and again.
  struct Source {
    wire::Subscribe selection;
    channel::PeerId writer = 0;
    std::optional<std::uint16_t> writer_incarnation;  // known from the relay's first answer on
    std::string program;                              // the writer's
    std::string title;                                // "series 'eta', slots of writer rank 3"
    std::uint64_t retained = 1;                       // the number of the writer's slots
    std::optional<OwedEnds::Prepared> end;            // the end of a hold
  };
  RemotePart(Remote& remote, std::uint32_t number, channel::PeerId server, Source source,
             std::unique_ptr<LocalSlots> slots);
  // Unsubscribes. If the relay of a hold is gone, it waits until another one has ended the hold, as long as a read
  // does; all parts of one relay wait together. Without a hub no other one comes: it then waits as long as patience_ns.
  // It does not wait if the series has ended, or if the writer is gone.
  ~RemotePart() override;

  // Sends the request, if this was not done yet, and waits for the answer. If the relay is lost meanwhile, asks another
  // one.
  Status finish_opening(std::uint64_t deadline_ns) override;

  [[nodiscard]] const char* route() const noexcept override { return "relay"; }
  [[nodiscard]] series::SeriesFile& file() noexcept override { return slots_.file(); }
  Status poll() override;
  Status alive() override;
  [[nodiscard]] std::string hindered() override;
  [[nodiscard]] series::Relayed* relayed() noexcept override;
  [[nodiscard]] std::uint64_t first_ordinal() const noexcept override { return first_; }
  [[nodiscard]] std::uint64_t published() noexcept override;
  void released(const series::NeededSteps& needed) override;
  Status sleep(series::Waiting& waiting, std::uint64_t target) override;

  [[nodiscard]] const channel::Channel* channel() const { return line_.channel(); }
  [[nodiscard]] std::byte* place(const wire::FrameHeader& header);
  Status arrived(const wire::FrameHeader& header, std::span<const std::byte> payload);
  void lost(const channel::Channel& channel, const Status& why);

 private:
  // asking: never accepted; open: steps come; broken: the relay is gone, or has not answered since it returned.
  enum class State : std::uint8_t { asking, open, refused, broken };

  // Subscribes over a new channel: for the first time, or to continue where a lost relay has stopped.
  void ask();
  void send_credit();
  [[nodiscard]] bool holds() const noexcept { return source_.selection.mode == COUPLET_SERIES_HOLD; }
  [[nodiscard]] std::uint64_t arrived_end() const;
  // Checks that this is the next piece of what is being received.
  [[nodiscard]] Status check_piece(const wire::FrameHeader& header, std::uint64_t offset, std::uint64_t bytes) const;
  void begin_step(std::uint64_t ordinal);
  Status take_accepted(const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status take_piece(const wire::FrameHeader& header, std::span<const std::byte> payload, bool last);
  Status take_time(const wire::FrameHeader& header);
  Status take_lost(const wire::FrameHeader& header);
  Status take_ended(const wire::FrameHeader& header);
  void publish(std::uint64_t end);

  Remote& remote_;
  std::uint32_t number_;
  Source source_;
  FilledSlots slots_;
  State state_ = State::asking;
  Line line_;
  std::uint64_t step_bytes_;
  bool swap_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t known_published_ = 0;
  series::NeededSteps needed_;  // told by the reader
  struct Told {                 // what a relay was told
    bool asked = false;         // it may know of this subscription
    bool asked_before = false;  // a relay that is lost may have known of it
    std::uint64_t granted = 0;  // the relay may send ordinals below this
    std::uint64_t jumped = 0;   // and below this, after a jump
    series::NeededSteps needed;
  };
  Told told_;
  std::uint64_t receiving_ = 0;  // bytes of the step receiving_ordinal_ that have arrived
  std::uint64_t receiving_ordinal_ = 0;
  struct StepTime {
    std::uint64_t ordinal = UINT64_MAX;  // whose time it is
    std::uint64_t bits = wire::no_time;
  };
  StepTime time_;
  bool in_step_ = false;
  bool writer_gone_ = false;
  Status why_;  // the reason of a refusal
  CarriedShare carried_;
  series::Relayed relayed_;
};

}  // namespace couplet::relay
