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

Status count(UcxCore& core, ucs_status_ptr_t request, PutTally& tally) noexcept {
  if (is_failure(request)) {
    return ucx_failure(core.ucp, Code::peer_lost, "UCX cannot put", failure_of(request));
  }
  tally.under_way += request == nullptr ? 0 : 1;
  return {};
}

void on_done(void* request, ucs_status_t status, void* counted) noexcept {
  PutTally& tally = *static_cast<PutTally*>(counted);
  auto& core = *static_cast<UcxCore*>(tally.owner);
  --tally.under_way;
  if (status != UCS_OK && tally.failure.ok()) {
    tally.failure = ucx_failure(core.ucp, Code::peer_lost, "UCX could not put", status);
  }
  core.ucp.ucp_request_free(request);
}

ucp_request_param_t how_to_count(UcxCore& core, PutTally& tally) noexcept {
  tally.owner = &core;
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = &on_done;
  how.user_data = &tally;
  return how;
}

// ---- own memory -----------------------------------------------------------------------------------------------------

class UcxMemory final : public OwnMemory {
 public:
  static Result<std::unique_ptr<OwnMemory>> open(std::shared_ptr<UcxWorker> worker, std::size_t bytes);
  ~UcxMemory() override;
  UcxMemory(const UcxMemory&) = delete;
  UcxMemory& operator=(const UcxMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept override { return data_; }
  [[nodiscard]] Result<std::string> invitation() const override;
  void no_longer_shared() noexcept override { is_shared_ = false; }

 private:
  UcxMemory(std::shared_ptr<UcxWorker> worker, std::size_t bytes) : worker_(std::move(worker)), bytes_(bytes) {}
  std::shared_ptr<UcxWorker> worker_;
  std::size_t bytes_;
  ucp_mem_h handle_ = nullptr;
  std::byte* data_ = nullptr;
  bool is_shared_ = true;
};

Result<std::unique_ptr<OwnMemory>> UcxMemory::open(std::shared_ptr<UcxWorker> worker, std::size_t bytes) {
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
  return std::unique_ptr<OwnMemory>(std::move(memory));
}

UcxMemory::~UcxMemory() {
  if (handle_ == nullptr || !worker_->mine()) {
    return;
  }
  UcxCore& core = worker_->core();
  if (is_shared_) {
    core.buried_memory.push_back(handle_);
  } else {
    core.ucp.ucp_mem_unmap(core.context, handle_);
  }
}

Result<std::string> UcxMemory::invitation() const {
  UcxCore& core = worker_->core();
  void* key = nullptr;
  std::size_t key_bytes = 0;
  const ucs_status_t status = core.ucp.ucp_rkey_pack(core.context, handle_, &key, &key_bytes);
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

class UcxTarget final : public PutTarget {
 public:
  static Result<std::unique_ptr<PutTarget>> open(std::shared_ptr<UcxWorker> worker, std::string_view invitation);
  ~UcxTarget() override;
  UcxTarget(const UcxTarget&) = delete;
  UcxTarget& operator=(const UcxTarget&) = delete;

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  Status put(const void* from, std::size_t bytes, std::uint64_t offset, PutTally& tally) override;
  Status flush(PutTally& tally) override;

 private:
  explicit UcxTarget(std::shared_ptr<UcxWorker> worker) : worker_(std::move(worker)) {}
  std::shared_ptr<UcxWorker> worker_;
  UcxEndpoint* endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  std::uint64_t address_ = 0;
  std::uint64_t bytes_ = 0;
};

UcxTarget::~UcxTarget() {
  if (!worker_->mine()) {
    return;
  }
  if (key_ != nullptr) {
    worker_->core().ucp.ucp_rkey_destroy(key_);
  }
  if (endpoint_ != nullptr) {
    endpoint_->release();
  }
}

Result<std::unique_ptr<PutTarget>> UcxTarget::open(std::shared_ptr<UcxWorker> worker, std::string_view invitation) {
  wire::FieldReader reader(invitation, "an invitation to memory of UCX");
  const std::string introduction = reader.take_text("introduction", wire::max_ucx_address_bytes + 64);
  const std::string key = reader.take_text("key", max_key_bytes);
  const auto address = reader.take<std::uint64_t>("address");
  const auto bytes = reader.take<std::uint64_t>("bytes", 1, max_memory_bytes);
  COUPLET_TRY(reader.finish());
  COUPLET_TRY_VALUE(const auto peer, wire::decode_ucx_introduction(introduction));
  std::unique_ptr<UcxTarget> target(new UcxTarget(std::move(worker)));
  target->address_ = address;
  target->bytes_ = bytes;
  UcxCore& core = target->worker_->core();
  COUPLET_TRY_VALUE(target->endpoint_, core.connect(peer));
  const ucs_status_t status = core.ucp.ucp_ep_rkey_unpack(target->endpoint_->handle(), key.data(), &target->key_);
  if (status != UCS_OK) {
    target->key_ = nullptr;
    return ucx_failure(core.ucp, Code::unsupported, "UCX has no way to the memory of the peer", status);
  }
  return std::unique_ptr<PutTarget>(std::move(target));
}

Status UcxTarget::put(const void* from, std::size_t bytes, std::uint64_t offset, PutTally& tally) {
  COUPLET_ASSERT(offset <= bytes_ && bytes <= bytes_ - offset);
  UcxCore& core = worker_->core();
  COUPLET_TRY(Status(endpoint_->failure()));
  const ucp_request_param_t how = how_to_count(core, tally);
  ucs_status_ptr_t const request =
      core.ucp.ucp_put_nbx(endpoint_->handle(), from, bytes, address_ + offset, key_, &how);
  return count(core, request, tally);
}

Status UcxTarget::flush(PutTally& tally) {
  UcxCore& core = worker_->core();
  COUPLET_TRY(Status(endpoint_->failure()));
  const ucp_request_param_t how = how_to_count(core, tally);
  ucs_status_ptr_t const request = core.ucp.ucp_ep_flush_nbx(endpoint_->handle(), &how);
  return count(core, request, tally);
}

}  // namespace

Result<std::unique_ptr<OwnMemory>> UcxPuts::own(std::size_t bytes) {
  return UcxMemory::open(worker_, bytes);
}

Result<std::unique_ptr<PutTarget>> UcxPuts::target(std::string_view invitation) {
  return UcxTarget::open(worker_, invitation);
}

Status UcxPuts::fence() {
  UcxCore& core = worker_->core();
  const ucs_status_t status = core.ucp.ucp_worker_fence(core.worker);
  return status == UCS_OK ? Status() : ucx_failure(core.ucp, Code::system, "UCX cannot order what was put", status);
}

}  // namespace couplet::link
