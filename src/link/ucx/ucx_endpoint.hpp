// An endpoint of UCX: the way from this worker to that of one peer, for all lanes and targets of that peer. UCX takes
// the n-th endpoint that one worker makes for another one, and the n-th in the other direction, for two ends of one
// connection, and drops long messages that come for an end that is closed. Therefore an endpoint stays open until it
// fails, or the worker ends, which closes it: see UcxWorker::unused_endpoints(). Only files of this folder include this
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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

  // Called once, by the core. Memory that processes of a node share is used only by endpoints that hear nothing of the
  // end of the peer, and both sides must agree about that: UCX has no failure handler for it.
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

  // Each use ends with release() or leave().
  void use() noexcept;
  void release() noexcept;
  // Does the same for a peer that is known to be gone: the end of the worker does not wait for what is not sent.
  void leave() noexcept;
  [[nodiscard]] bool is_used() const noexcept { return user_count_ != 0; }
  // Is this the way to a worker with that address, and does it work?
  [[nodiscard]] bool leads_to(std::string_view address) const noexcept {
    return state_ == State::open && failure_.ok() && address_ == address;
  }
  // Closes the endpoint when everything is sent. Called at the end of the worker.
  void close() noexcept;
  // Goes on with a close that was begun, and closes what has failed and has no user. Not called by UCX.
  void sweep() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    return state_ == State::closed && under_way_ == 0 && user_count_ == 0;
  }
  // Does the end of the worker wait for it?
  [[nodiscard]] bool is_awaited() const noexcept { return !is_closed() && state_ != State::left; }

 private:
  enum class State : std::uint8_t { open, flushing, flushed, closing, closed, left };
  static void on_sent(void* request, ucs_status_t status, void* block) noexcept;
  static void on_flushed(void* request, ucs_status_t status, void* endpoint) noexcept;
  static void on_closed(void* request, ucs_status_t status, void* endpoint) noexcept;
  static void on_failure(void* endpoint, ucp_ep_h handle, ucs_status_t status) noexcept;
  void send_as(std::unique_ptr<UcxBlock> block, std::size_t bytes, std::uint32_t flags) noexcept;
  void end() noexcept;

  UcxCore& core_;
  ucp_ep_h handle_ = nullptr;
  std::string address_;
  std::size_t user_count_ = 0;
  bool is_left_ = false;
  std::size_t under_way_ = 0;  // blocks that UCX may read
  Failures failures_ = Failures::told;
  State state_ = State::open;
  Status failure_;
};

}  // namespace couplet::link
