#include "link/ucx/ucx_endpoint.hpp"

#include "base/assert.hpp"

namespace couplet::link {

Status UcxEndpoint::connect(std::string_view address, Failures failures) {
  failures_ = failures;
  address_ = address;
  ucp_ep_params_t how{};
  how.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  how.address = reinterpret_cast<const ucp_address_t*>(address.data());
  how.err_mode = failures == Failures::told ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  how.err_handler = {.cb = &UcxEndpoint::on_failure, .arg = this};
  const ucs_status_t made = core_.ucp.ucp_ep_create(core_.worker, &how, &handle_);
  if (made == UCS_OK) {
    return {};
  }
  state_ = State::closed;
  return ucx_failure(core_.ucp, made == UCS_ERR_UNREACHABLE ? Code::unsupported : Code::system,
                     "UCX finds no way to the peer", made);
}

void UcxEndpoint::send_as(std::unique_ptr<UcxBlock> block, std::size_t bytes, std::uint32_t flags) noexcept {
  if (state_ != State::open || !failure_.ok()) {
    core_.give_back(std::move(block));
    return;
  }
  block->endpoint = this;
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  // A rendezvous with a peer that has died may never end; and if it is broken off over tcp, UCX 1.13 ends the process.
  how.flags = UCP_AM_SEND_FLAG_EAGER | flags;
  how.cb.send = &UcxEndpoint::on_sent;
  how.user_data = block.get();
  ucs_status_ptr_t const request =
      core_.ucp.ucp_am_send_nbx(handle_, wire::ucx_handler, block->head.data(), block->head.size(),
                                bytes == 0 ? nullptr : block->memory.get(), bytes, &how);
  if (is_failure(request)) {
    failure_ = ucx_failure(core_.ucp, Code::peer_lost, "UCX cannot send", failure_of(request));
  }
  if (request == nullptr || is_failure(request)) {
    core_.give_back(std::move(block));
    return;
  }
  ++under_way_;
  static_cast<void>(block.release());  // on_sent() takes it back
}

void UcxEndpoint::on_sent(void* request, ucs_status_t status, void* block) noexcept {
  std::unique_ptr<UcxBlock> sent(static_cast<UcxBlock*>(block));
  UcxEndpoint& endpoint = *sent->endpoint;
  --endpoint.under_way_;
  endpoint.core_.wants_sweep = true;
  if (status != UCS_OK && endpoint.failure_.ok()) {
    endpoint.failure_ = ucx_failure(endpoint.core_.ucp, Code::peer_lost, "UCX could not send", status);
  }
  endpoint.core_.give_back(std::move(sent));
  endpoint.core_.ucp.ucp_request_free(request);
}

void UcxEndpoint::on_failure(void* endpoint, ucp_ep_h /*handle*/, ucs_status_t status) noexcept {
  auto& self = *static_cast<UcxEndpoint*>(endpoint);
  self.core_.wants_sweep = true;
  if (self.failure_.ok()) {
    self.failure_ = ucx_failure(self.core_.ucp, Code::peer_lost, "UCX has lost the peer", status);
  }
}

void UcxEndpoint::use() noexcept {
  ++user_count_;
  is_left_ = false;
}

void UcxEndpoint::release() noexcept {
  COUPLET_ASSERT(user_count_ > 0);
  --user_count_;
  core_.wants_sweep = true;
}

void UcxEndpoint::leave() noexcept {
  release();
  is_left_ = user_count_ == 0;  // another lane of the same peer may have been made meanwhile
}

void UcxEndpoint::close() noexcept {
  if (state_ != State::open) {
    return;
  }
  core_.wants_sweep = true;
  if (is_left_ && failures_ == Failures::not_told) {
    state_ = State::left;  // the end of the worker takes it along
    return;
  }
  if (is_left_ || !failure_.ok()) {
    end();
    return;
  }
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = &UcxEndpoint::on_flushed;
  how.user_data = this;
  state_ = State::flushing;
  ucs_status_ptr_t const request = core_.ucp.ucp_ep_flush_nbx(handle_, &how);
  if (request == nullptr || is_failure(request)) {
    state_ = State::flushed;
  }
}

void UcxEndpoint::on_flushed(void* request, ucs_status_t /*status*/, void* endpoint) noexcept {
  auto& self = *static_cast<UcxEndpoint*>(endpoint);
  self.core_.wants_sweep = true;
  if (self.state_ == State::flushing) {
    self.state_ = State::flushed;
  }
  self.core_.ucp.ucp_request_free(request);
}

// What UCX calls back must not close the endpoint, so that is done here.
void UcxEndpoint::sweep() noexcept {
  const bool is_over = state_ == State::flushed && under_way_ == 0;
  const bool is_lost = (state_ == State::flushed || state_ == State::flushing) && !failure_.ok();
  const bool is_unused = state_ == State::open && !failure_.ok() && user_count_ == 0;
  if (is_over || is_lost || is_unused) {
    end();  // cancels what is under way
  }
}

void UcxEndpoint::end() noexcept {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = failures_ == Failures::told ? std::uint32_t{UCP_EP_CLOSE_FLAG_FORCE} : 0U;
  how.cb.send = &UcxEndpoint::on_closed;
  how.user_data = this;
  state_ = State::closing;
  ucs_status_ptr_t const request = core_.ucp.ucp_ep_close_nbx(handle_, &how);
  if (request == nullptr || is_failure(request)) {
    state_ = State::closed;
  }
}

void UcxEndpoint::on_closed(void* request, ucs_status_t /*status*/, void* endpoint) noexcept {
  auto& self = *static_cast<UcxEndpoint*>(endpoint);
  self.core_.wants_sweep = true;
  self.state_ = State::closed;
  self.core_.ucp.ucp_request_free(request);
}

}  // namespace couplet::link
