// Mailbox: the notices that the members of one group send each other about their collective calls. Session is above it.
// Invariants: it has a copy of the group, so that its requests and those of calls are none of the user's; what is
// malformed or meant for another group is dropped. Tests: tests/conformance/collective.
#pragma once

#include <cstdint>
#include <string>

#include "message/courier.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

class Mailbox {
 public:
  Mailbox(message::Courier& courier, const message::Group& group);
  ~Mailbox() { close(); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  [[nodiscard]] message::Group& group() noexcept { return group_; }
  [[nodiscard]] const message::Group& group() const noexcept { return group_; }
  // Returns a context in which only the members of the group send, for any two numbers.
  [[nodiscard]] std::uint32_t context_of(std::uint64_t epoch, std::uint64_t call) const noexcept;
  // Sends a notice. A target that is lost is not told; one that cannot be told because there is no memory loses its
  // channel, so that it does not wait for ever.
  void send(const wire::CollectiveNotice& notice, std::int32_t target) noexcept;
  // How often the member was lost.
  [[nodiscard]] std::uint64_t losses_of(std::int32_t rank) const noexcept { return courier_.losses(group_.peer(rank)); }
  [[nodiscard]] bool has_notice() const noexcept { return request_ != nullptr && request_->done; }
  // Takes the next notice. source: -1 if it was dropped. Returns false if there is none.
  bool take(wire::CollectiveNotice& notice, std::int32_t& source);
  // Called as time passes: receives again if there was no memory, or if all others were lost.
  void look() noexcept;
  // The same while a call waits: the death of a member is noticed without a hub, too.
  void watch() noexcept;
  // Takes no notices from now on. Messages that were sent still refer to this object.
  void close() noexcept;
  // A member may have returned.
  void open_again() noexcept { is_over_ = false; }
  // Can this object be destroyed now? Otherwise messages of failed calls still refer to it.
  [[nodiscard]] bool is_idle() const noexcept;

 private:
  void open();

  message::Courier& courier_;
  message::Group group_;
  std::uint32_t context_;
  message::Request* request_ = nullptr;
  bool is_over_ = false;  // no notice can come any more, unless a member returns
  bool is_closed_ = false;
  std::string incoming_;
};

}  // namespace couplet::collective
