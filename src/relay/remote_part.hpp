// One writer rank's slots on this node: a series file that no other process maps, filled by what the relay sends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "relay/line.hpp"
#include "relay/remote.hpp"
#include "series/part.hpp"

namespace couplet::relay {

class RemotePart final : public series::Part {
 public:
  // What is subscribed to, for the first time and again.
  struct Source {
    wire::Subscribe wish;
    channel::PeerId writer = 0;
    std::string title;  // "series 'eta', slots of writer rank 3"
  };
  RemotePart(Remote& remote, std::uint32_t number, channel::PeerId server, Source source,
             std::unique_ptr<series::SeriesFile> file);
  // Unsubscribes. If the relay of a hold is gone, it waits for another one, which ends the hold, as long as
  // patience_ns.
  ~RemotePart() override;

  // Asks, and waits for the answer. If the relay is lost meanwhile, another one is asked.
  Status open(std::uint64_t deadline_ns);

  [[nodiscard]] const char* route() const noexcept override { return "relay"; }
  [[nodiscard]] series::SeriesFile& file() noexcept override { return *file_; }
  Status poll() override;
  Status alive() override;
  [[nodiscard]] std::uint64_t first_ordinal() const noexcept override { return first_; }
  [[nodiscard]] std::uint64_t published() noexcept override;
  void released(std::uint64_t consumed) override;
  Status sleep(series::Waiting& waiting, std::uint64_t target) override;

  [[nodiscard]] const channel::Channel* channel() const { return line_.channel(); }
  [[nodiscard]] std::byte* place(const wire::FrameHeader& header);
  Status arrived(const wire::FrameHeader& header, std::span<const std::byte> payload);
  void lost(const channel::Channel& channel, const Status& why);

 private:
  // asking: never accepted; open: steps come; broken: the relay is gone, or has not answered since it returned.
  enum class State : std::uint8_t { asking, open, refused, broken };

  // Subscribes if there is a channel over which it was not asked yet: for the first time, or to continue where a lost
  // relay stopped.
  void ask();
  void send_credit();
  [[nodiscard]] bool holds() const noexcept { return source_.wish.mode == COUPLET_HOLD; }
  [[nodiscard]] std::uint64_t arrived_end() const;
  // Checks that this is the next piece of what is being received.
  [[nodiscard]] Status check_piece(const wire::FrameHeader& header, std::uint64_t offset, std::uint64_t bytes) const;
  void begin_step(std::uint64_t ordinal);
  Status take_accepted(const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status take_piece(const wire::FrameHeader& header, std::span<const std::byte> payload, bool last);
  Status take_time(const wire::FrameHeader& header);
  void turn_numbers(std::byte* slot) const;
  Status take_lost(const wire::FrameHeader& header);
  Status take_ended(const wire::FrameHeader& header);
  Status take_evicted();
  void publish(std::uint64_t end);

  Remote& remote_;
  std::uint32_t number_;
  Source source_;
  std::unique_ptr<series::SeriesFile> file_;
  State state_ = State::asking;
  Line line_;
  std::uint64_t step_bytes_;
  bool swap_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t known_published_ = 0;
  std::uint64_t consumed_ = 0;  // told by the reader
  std::uint64_t granted_ = 0;   // the relay may send ordinals below this
  std::uint64_t told_consumed_ = 0;
  std::uint64_t receiving_ = 0;  // bytes of the step receiving_ordinal_ that have arrived
  std::uint64_t receiving_ordinal_ = 0;
  std::uint64_t timed_ordinal_ = UINT64_MAX;  // the ordinal whose time is time_bits_
  std::uint64_t time_bits_ = wire::no_time;
  bool in_step_ = false;
  bool writer_gone_ = false;
  std::uint16_t writer_incarnation_ = 0;
  Status why_;  // the reason of a refusal
};

}  // namespace couplet::relay
