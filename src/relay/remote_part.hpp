// One writer rank's slots on this node: a series file that nobody else maps, filled by what the relay pushes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "relay/remote.hpp"
#include "series/part.hpp"

namespace couplet::relay {

class RemotePart final : public series::Part {
 public:
  // What is subscribed to, for the first time and again.
  struct Source {
    wire::Subscribe wish;
    channel::PeerId server = 0;
    channel::PeerId writer = 0;
    couplet_type type = COUPLET_BYTE;
    std::string title;  // "series 'eta', slots of writer rank 3"
  };
  RemotePart(Remote& remote, std::uint32_t number, Source source, std::unique_ptr<series::SeriesFile> file);
  ~RemotePart() override;  // unsubscribes

  // Asks, and waits for the answer.
  Status open(std::uint64_t deadline_ns);

  [[nodiscard]] const char* route() const noexcept override { return "relay"; }
  [[nodiscard]] series::SeriesFile& file() noexcept override { return *file_; }
  Status poll() override;
  Status alive() override;
  [[nodiscard]] std::uint64_t first_ordinal() const noexcept override { return first_; }
  [[nodiscard]] std::uint64_t published() noexcept override;
  void released(std::uint64_t consumed) override;
  Status sleep(series::Waiting& waiting, std::uint64_t target) override;

  [[nodiscard]] const channel::Channel* channel() const { return channel_; }
  [[nodiscard]] std::byte* place(const wire::FrameHeader& header);
  Status arrived(const wire::FrameHeader& header, std::span<const std::byte> payload);
  void lost(const channel::Channel& channel, const Status& why);

 private:
  // asking: for the first time; open: steps come; broken: the relay is gone, or has not answered yet after it came again.
  enum class State : std::uint8_t { asking, open, refused, broken };

  Status ask();
  void break_off(const Status& why);
  void try_again();
  void send_credit();
  [[nodiscard]] bool holds() const noexcept { return source_.wish.mode == COUPLET_HOLD; }
  [[nodiscard]] std::uint64_t arrived_end() const;
  // Is this the next piece of what is being received?
  [[nodiscard]] Status check_piece(const wire::FrameHeader& header, std::uint64_t offset, std::uint64_t bytes) const;
  void begin_step(std::uint64_t ordinal);
  Status take_accepted(const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status take_piece(const wire::FrameHeader& header, std::span<const std::byte> payload, bool last);
  Status take_lost(const wire::FrameHeader& header);
  Status take_ended(const wire::FrameHeader& header);
  Status take_evicted();
  void publish(std::uint64_t end);

  Remote& remote_;
  std::uint32_t number_;
  Source source_;
  std::unique_ptr<series::SeriesFile> file_;
  State state_ = State::asking;
  channel::Channel* channel_ = nullptr;
  std::uint64_t step_bytes_;
  bool swap_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t known_published_ = 0;
  std::uint64_t consumed_ = 0;  // told by the reader
  std::uint64_t granted_ = 0;   // the relay may push below
  std::uint64_t told_consumed_ = 0;
  std::uint64_t receiving_ = 0;  // bytes that are there of the step receiving_ordinal_
  std::uint64_t receiving_ordinal_ = 0;
  bool in_step_ = false;
  bool writer_gone_ = false;
  std::uint16_t writer_incarnation_ = 0;
  Status why_;  // refused or broken
  std::uint64_t broken_since_ns_ = 0;
  std::uint64_t next_try_ns_ = 0;
};

}  // namespace couplet::relay
