#include "link/ucx/ucx_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "link/ucx/ucx_endpoint.hpp"
#include "wire/fields.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t max_key_bytes = 8192;
constexpr std::uint64_t max_memory_bytes = std::uint64_t{1} << 46U;

Status count(UcxCore& core, ucs_status_ptr_t request, UcxTally& tally) noexcept {
  if (is_failure(request)) {
    return ucx_failure(core.ucp, Code::peer_lost, "UCX cannot put", failure_of(request));
  }
  tally.under_way += request == nullptr ? 0 : 1;
  return {};
}

void on_done(void* request, ucs_status_t status, void* counted) noexcept {
  UcxTally& tally = *static_cast<UcxTally*>(counted);
  --tally.under_way;
  if (status != UCS_OK && tally.failure.ok()) {
    tally.failure = ucx_failure(tally.core->ucp, Code::peer_lost, "UCX could not put", status);
  }
  tally.core->ucp.ucp_request_free(request);
}

ucp_request_param_t how_to_count(UcxCore& core, UcxTally& tally) noexcept {
  tally.core = &core;
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = &on_done;
  how.user_data = &tally;
  return how;
}

}  // namespace

// ---- own memory -----------------------------------------------------------------------------------------------------

Result<std::unique_ptr<UcxMemory>> UcxMemory::open(std::shared_ptr<UcxWorker> worker, std::size_t bytes) {
  if (bytes > max_memory_bytes) {
    return fail(Code::unsupported, "memory of {} bytes cannot be shared", bytes);
  }
  std::unique_ptr<UcxMemory> memory(new UcxMemory(std::move(worker), std::max<std::size_t>(bytes, 1)));
  UcxCore& core = memory->worker_->core();
  ucp_mem_map_params_t how{};
  how.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  how.address = nullptr;
  how.length = memory->bytes_;
  how.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  ucs_status_t status = core.ucp.ucp_mem_map(core.context, &how, &handle);
  if (status != UCS_OK) {
    memory->is_shared_ = false;
    return ucx_failure(core.ucp, status == UCS_ERR_NO_MEMORY ? Code::memory : Code::unsupported,
                       fmt::format("UCX gives no memory of {} bytes", bytes), status);
  }
  memory->handle_ = handle;
  ucp_mem_attr_t facts{};
  facts.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  status = core.ucp.ucp_mem_query(handle, &facts);
  if (status != UCS_OK) {
    return ucx_failure(core.ucp, Code::system, "UCX does not say where its memory is", status);
  }
  memory->data_ = static_cast<std::byte*>(facts.address);
  if (reinterpret_cast<std::uintptr_t>(memory->data_) % 64 != 0) {
    return fail(Code::unsupported, "UCX gives memory that is not aligned to 64 bytes");
  }
  std::memset(memory->data_, 0, memory->bytes_);
  return memory;
}

UcxMemory::~UcxMemory() {
  if (handle_ == nullptr || !worker_->mine()) {
    return;
  }
  UcxCore& core = worker_->core();
  if (is_shared_) {
    core.buried_memory.push_back(static_cast<ucp_mem_h>(handle_));
  } else {
    core.ucp.ucp_mem_unmap(core.context, static_cast<ucp_mem_h>(handle_));
  }
}

Result<std::string> UcxMemory::invitation() const {
  UcxCore& core = worker_->core();
  void* key = nullptr;
  std::size_t key_bytes = 0;
  const ucs_status_t status = core.ucp.ucp_rkey_pack(core.context, static_cast<ucp_mem_h>(handle_), &key, &key_bytes);
  if (status != UCS_OK) {
    return ucx_failure(core.ucp, Code::unsupported, "UCX does not let peers into its memory", status);
  }
  wire::FieldWriter writer;
  writer.put_text(wire::encode_ucx_introduction(core.introduction(1)));
  writer.put_text({static_cast<const char*>(key), key_bytes});
  writer.put(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data_)));
  writer.put(static_cast<std::uint64_t>(bytes_));
  core.ucp.ucp_rkey_buffer_release(key);
  return writer.take();
}

// ---- the memory of a peer -------------------------------------------------------------------------------------------

struct UcxTarget::State {
  std::shared_ptr<UcxWorker> worker;
  UcxEndpoint* endpoint = nullptr;
  ucp_rkey_h key = nullptr;
  std::uint64_t address = 0;
};

UcxTarget::UcxTarget(std::unique_ptr<State> state) : state_(std::move(state)) {}

UcxTarget::~UcxTarget() {
  if (!state_->worker->mine()) {
    return;
  }
  if (state_->key != nullptr) {
    state_->worker->core().ucp.ucp_rkey_destroy(state_->key);
  }
  if (state_->endpoint != nullptr) {
    state_->endpoint->close();
  }
}

Result<std::unique_ptr<UcxTarget>> UcxTarget::open(std::shared_ptr<UcxWorker> worker, std::string_view invitation) {
  wire::FieldReader reader(invitation, "an invitation to memory of UCX");
  const std::string introduction = reader.take_text("introduction", wire::max_ucx_address_bytes + 64);
  const std::string key = reader.take_text("key", max_key_bytes);
  const auto address = reader.take<std::uint64_t>("address");
  const auto bytes = reader.take<std::uint64_t>("bytes", 1, max_memory_bytes);
  COUPLET_TRY(reader.finish());
  COUPLET_TRY_VALUE(const auto peer, wire::decode_ucx_introduction(introduction));
  std::unique_ptr<UcxTarget> target(new UcxTarget(std::make_unique<State>()));
  State& state = *target->state_;
  state.worker = std::move(worker);
  state.address = address;
  target->bytes_ = bytes;
  UcxCore& core = state.worker->core();
  COUPLET_TRY_VALUE(state.endpoint, core.connect(peer));
  const ucs_status_t status = core.ucp.ucp_ep_rkey_unpack(state.endpoint->handle(), key.data(), &state.key);
  if (status != UCS_OK) {
    state.key = nullptr;
    return ucx_failure(core.ucp, Code::unsupported, "UCX has no way to the memory of the peer", status);
  }
  return target;
}

Status UcxTarget::put(const void* from, std::size_t bytes, std::uint64_t offset, UcxTally& tally) {
  COUPLET_ASSERT(offset <= bytes_ && bytes <= bytes_ - offset);
  UcxCore& core = state_->worker->core();
  COUPLET_TRY(Status(state_->endpoint->failure()));
  const ucp_request_param_t how = how_to_count(core, tally);
  ucs_status_ptr_t const request = core.ucp.ucp_put_nbx(state_->endpoint->handle(), from, bytes,
                                                        state_->address + offset, state_->key, &how);
  return count(core, request, tally);
}

Status UcxTarget::flush(UcxTally& tally) {
  UcxCore& core = state_->worker->core();
  COUPLET_TRY(Status(state_->endpoint->failure()));
  const ucp_request_param_t how = how_to_count(core, tally);
  ucs_status_ptr_t const request = core.ucp.ucp_ep_flush_nbx(state_->endpoint->handle(), &how);
  return count(core, request, tally);
}

Status ucx_fence(UcxWorker& worker) {
  UcxCore& core = worker.core();
  const ucs_status_t status = core.ucp.ucp_worker_fence(core.worker);
  return status == UCS_OK ? Status() : ucx_failure(core.ucp, Code::system, "UCX cannot order what was put", status);
}

}  // namespace couplet::link
