// An endpoint of UCX: the way from this worker to that of one peer. The core owns it, so that it can be closed without
// waiting. Only files of this folder include this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "link/ucx/ucx_core.hpp"

namespace couplet::link {

class UcxEndpoint {
 public:
  enum class Failures : std::uint8_t { told, not_told };
  explicit UcxEndpoint(UcxCore& core) : core_(core) {}
  UcxEndpoint(const UcxEndpoint&) = delete;
  UcxEndpoint& operator=(const UcxEndpoint&) = delete;
  ~UcxEndpoint() = default;

  // Called once. Memory that processes of a node share is used only by endpoints that hear nothing of the end of the
  // peer, and both sides must agree about that: UCX has no failure handler for it.
  Status connect(std::string_view address, Failures failures);
  // Sends the head of the block, which is the first message. UCX connects the endpoint for it, and holds it until the
  // peer has answered.
  void greet(std::unique_ptr<UcxBlock> block) noexcept { send_as(std::move(block), 0, UCP_AM_SEND_FLAG_REPLY); }
  // Sends the head and the first `bytes` of the block. After a failure it does nothing.
  void send(std::unique_ptr<UcxBlock> block, std::size_t bytes) noexcept { send_as(std::move(block), bytes, 0); }
  // Does UCX hold anything that leaves only when this process makes progress?
  [[nodiscard]] bool holds_messages() const noexcept { return under_way_ != 0; }
  [[nodiscard]] bool may_share_memory() const noexcept { return failures_ == Failures::not_told; }
  // Returns why nothing can be sent any longer, or ok.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  [[nodiscard]] ucp_ep_h handle() const noexcept { return handle_; }

  // Closes the endpoint when everything is sent. Its owner no longer uses it.
  void close() noexcept;
  // Does the same for a peer that is known to be gone: nothing is waited for.
  void leave() noexcept;
  // Closes it at once, if UCX can do that.
  void force() noexcept;
  // Goes on with a close that was begun. Not called by UCX.
  void sweep() noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return state_ == State::closed && under_way_ == 0; }
  // Does the end of the worker wait for it?
  [[nodiscard]] bool is_awaited() const noexcept { return !is_closed() && state_ != State::left; }

 private:
  enum class State : std::uint8_t { open, flushing, flushed, closing, closed, left };
  static void on_sent(void* request, ucs_status_t status, void* block) noexcept;
  static void on_flushed(void* request, ucs_status_t status, void* endpoint) noexcept;
  static void on_closed(void* request, ucs_status_t status, void* endpoint) noexcept;
  static void on_failure(void* endpoint, ucp_ep_h handle, ucs_status_t status) noexcept;
  void send_as(std::unique_ptr<UcxBlock> block, std::size_t bytes, std::uint32_t flags) noexcept;
  void release() noexcept;

  UcxCore& core_;
  ucp_ep_h handle_ = nullptr;
  std::size_t under_way_ = 0;  // blocks that UCX may read
  Failures failures_ = Failures::told;
  State state_ = State::open;
  Status failure_;
};

}  // namespace couplet::link
