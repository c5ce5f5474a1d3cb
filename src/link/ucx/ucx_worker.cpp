#include "link/ucx/ucx_worker.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <utility>

#include "link/ucx/ucx_core.hpp"
#include "link/ucx/ucx_endpoint.hpp"
#include "link/ucx/ucx_inbox.hpp"
#include "os/clock.hpp"
#include "os/descriptor_limit.hpp"
#include "os/host.hpp"
#include "wire/seal.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t short_block_bytes = 4096;
constexpr std::size_t max_free_short_blocks = 256;
constexpr std::size_t max_free_long_blocks = 32;
constexpr int longest_look_ms = 10;
// UCX 1.13 ends the process, or that of the peer, if it gets no descriptor while it opens a worker or connects one.
constexpr std::size_t worker_descriptors = 24;
constexpr std::size_t connection_descriptors = 12;

Status check_descriptors(std::size_t count, std::string_view what) {
  return os::are_descriptors_left(count)
             ? Status()
             : fail(Code::limit, "{}: fewer than {} descriptors are left of the {} that this process may have open",
                    what, count, os::descriptor_limit());
}

ucs_status_t on_message(void* core, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                        const ucp_am_recv_param_t* param) noexcept {
  auto& self = *static_cast<UcxCore*>(core);
  const auto head = wire::decode_ucx_head({static_cast<const std::byte*>(header), header_bytes});
  const auto found = head.ok() ? self.inboxes.find(head->token) : self.inboxes.end();
  if ((param->recv_attr & std::uint64_t{UCP_AM_RECV_ATTR_FLAG_RNDV}) != 0) {
    return UCS_ERR_REJECTED;  // no peer sends such messages
  }
  if (found == self.inboxes.end()) {
    return UCS_OK;
  }
  return found->second->take(*head, data, bytes) ? UCS_INPROGRESS : UCS_OK;
}

Status check(const UcxOptions& options) {
  constexpr std::uint32_t most_bytes = 1U << 30U;
  if (options.record_bytes < 1024 || options.record_bytes > most_bytes || options.largest_payload < 4096 ||
      options.largest_payload > most_bytes || options.max_unread_records < 2 || options.max_unread_records > 65536 ||
      options.max_unread_bytes < options.record_bytes + wire::record_bytes || options.max_shared_records < 2 ||
      options.max_shared_bytes < options.record_bytes + wire::record_bytes) {
    return fail(Code::limit,
                "ucx: payloads of {} bytes, records of {} bytes, {} unread records and {} unread bytes; payloads have "
                "4096 to {} bytes, records 1024 to {} bytes, 2 to 65536 records can be unread, and a whole one fits",
                options.largest_payload, options.record_bytes, options.max_unread_records, options.max_unread_bytes,
                most_bytes, most_bytes);
  }
  return {};
}

// May UCX use memory that processes of a node share? It does not say, so this follows the names of its transports.
bool shares_memory(const UcxOptions& options) {
  const char* const variable = std::getenv("UCX_TLS");
  const std::string wanted = !options.transports.empty() ? options.transports : variable == nullptr ? "" : variable;
  constexpr std::array<std::string_view, 7> names = {"all", "posix", "sysv", "shm", "sm", "mm", "xpmem"};
  return wanted.empty() || wanted.starts_with('^') ||
         std::any_of(names.begin(), names.end(), [&](auto name) { return wanted.find(name) != std::string::npos; });
}

// How many messages of up to 8 KiB a process takes from all those that share its memory while it computes. UCX 1.13
// takes 64, and gives their places back in halves. With these values its memory is the same.
constexpr std::array<std::array<const char*, 2>, 2> queue_settings = {
    {{"MM_FIFO_SIZE", "256"}, {"MM_FIFO_RELEASE_FACTOR", "0.125"}}};

// A size that the user has set is kept. Another version of UCX that does not know the names ignores them.
void widen_queue(const UcxCore& core, ucp_config_t* config) {
  constexpr std::array<const char*, 4> variables = {"UCX_MM_FIFO_SIZE", "UCX_POSIX_FIFO_SIZE", "UCX_SYSV_FIFO_SIZE",
                                                    "UCX_XPMEM_FIFO_SIZE"};
  if (std::any_of(variables.begin(), variables.end(), [](auto name) { return std::getenv(name) != nullptr; })) {
    return;
  }
  for (const auto& [name, value] : queue_settings) {
    static_cast<void>(core.ucp.ucp_config_modify(config, name, value));
  }
}

Status open_context(UcxCore& core) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = core.ucp.ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) {
    return ucx_failure(core.ucp, Code::config, "UCX cannot read its variables UCX_*", status);
  }
  const std::string& wanted = core.options.transports;
  if (!wanted.empty()) {
    status = core.ucp.ucp_config_modify(config, "TLS", wanted.c_str());
  }
  if (shares_memory(core.options)) {
    widen_queue(core, config);
  }
  if (status == UCS_OK) {
    ucp_params_t what{};
    what.field_mask = UCP_PARAM_FIELD_FEATURES;
    what.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    status = core.ucp.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &what, config, &core.context);
  }
  core.ucp.ucp_config_release(config);
  if (status == UCS_OK) {
    return {};
  }
  core.context = nullptr;
  return ucx_failure(
      core.ucp, wanted.empty() ? Code::system : Code::config,
      wanted.empty() ? "UCX opens no context" : fmt::format("UCX opens no context with the transports '{}'", wanted),
      status);
}

Status open_worker(UcxCore& core) {
  ucp_worker_params_t how{};
  how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  how.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = core.ucp.ucp_worker_create(core.context, &how, &core.worker);
  if (status != UCS_OK) {
    core.worker = nullptr;
    return ucx_failure(core.ucp, Code::system, "UCX makes no worker", status);
  }
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = core.ucp.ucp_worker_get_address(core.worker, &address, &bytes);
  if (status != UCS_OK) {
    return ucx_failure(core.ucp, Code::system, "UCX tells no address of its worker", status);
  }
  core.address.assign(reinterpret_cast<const char*>(address), bytes);
  core.ucp.ucp_worker_release_address(core.worker, address);
  if (bytes > wire::max_ucx_address_bytes) {
    return fail(Code::limit, "UCX tells an address of its worker of {} bytes; it may have {}", bytes,
                wire::max_ucx_address_bytes);
  }
  status = core.ucp.ucp_worker_get_efd(core.worker, &core.descriptor);
  if (status != UCS_OK) {
    return ucx_failure(core.ucp, Code::system, "UCX has no descriptor to sleep on", status);
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG |
                       UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  handler.id = wire::ucx_handler;
  handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
  handler.cb = &on_message;
  handler.arg = &core;
  status = core.ucp.ucp_worker_set_am_recv_handler(core.worker, &handler);
  return status == UCS_OK ? Status() : ucx_failure(core.ucp, Code::system, "UCX takes no messages", status);
}

}  // namespace

// ---- the core -------------------------------------------------------------------------------------------------------

std::unique_ptr<UcxBlock> UcxCore::take_block(std::size_t bytes) {
  const bool is_short = bytes <= short_block_bytes;
  auto& free_ones = free_blocks[is_short ? 0 : 1];
  if (!free_ones.empty()) {
    auto block = std::move(free_ones.back());
    free_ones.pop_back();
    return block;
  }
  auto block = std::make_unique<UcxBlock>();
  block->capacity = is_short ? short_block_bytes : std::max<std::size_t>(options.record_bytes, wire::record_bytes);
  block->memory = std::make_unique_for_overwrite<std::byte[]>(block->capacity);
  free_ones.reserve(is_short ? max_free_short_blocks : max_free_long_blocks);
  return block;
}

void UcxCore::give_back(std::unique_ptr<UcxBlock> block) noexcept {
  const bool is_short = block->capacity == short_block_bytes;
  auto& free_ones = free_blocks[is_short ? 0 : 1];
  if (free_ones.size() < (is_short ? max_free_short_blocks : max_free_long_blocks)) {
    free_ones.push_back(std::move(block));  // there is room, see take_block()
  }
}

wire::UcxIntroduction UcxCore::introduction(std::uint64_t token) const {
  return {.shares_memory = shares_memory(options),
          .token = token,
          .node = static_cast<std::uint64_t>(std::hash<std::string>()(os::boot_id())),
          .worker = address};
}

Result<UcxEndpoint*> UcxCore::connect(const wire::UcxIntroduction& peer) {
  const auto known = std::find_if(endpoints.begin(), endpoints.end(),
                                  [&](const auto& endpoint) { return endpoint->leads_to(peer.worker); });
  if (known != endpoints.end()) {
    (*known)->use();
    return known->get();
  }
  COUPLET_TRY(check_descriptors(connection_descriptors, "UCX does not connect to the peer"));
  const wire::UcxIntroduction own = introduction(1);
  const bool share = own.shares_memory && peer.shares_memory && own.node == peer.node;
  auto endpoint = std::make_unique<UcxEndpoint>(*this);
  endpoints.reserve(endpoints.size() + 1);
  COUPLET_TRY(endpoint->connect(peer.worker, share ? UcxEndpoint::Failures::not_told : UcxEndpoint::Failures::told));
  endpoint->use();
  return endpoints.emplace_back(std::move(endpoint)).get();
}

void UcxCore::sweep() noexcept {
  if (!std::exchange(wants_sweep, false)) {
    return;
  }
  bool any_closed = false;
  for (const auto& endpoint : endpoints) {
    endpoint->sweep();
    any_closed = any_closed || endpoint->is_closed();
  }
  if (any_closed) {
    std::erase_if(endpoints, [](const auto& endpoint) { return endpoint->is_closed(); });
  }
}

// ---- the worker -----------------------------------------------------------------------------------------------------

Result<std::shared_ptr<UcxWorker>> UcxWorker::open(const UcxOptions& options) {
  COUPLET_TRY(check(options));
  auto core = std::make_unique<UcxCore>();
  core->options = options;
  COUPLET_TRY(check_descriptors(worker_descriptors, "UCX makes no worker"));
  COUPLET_TRY_VALUE(core->ucp, UcpLibrary::load());
  std::shared_ptr<UcxWorker> worker(new UcxWorker(std::move(core)));  // its destructor ends what was opened
  COUPLET_TRY(open_context(*worker->core_));
  COUPLET_TRY(open_worker(*worker->core_));
  return worker;
}

UcxWorker::UcxWorker(std::unique_ptr<UcxCore> core) : core_(std::move(core)) {}

UcxWorker::~UcxWorker() {
  if (!mine()) {
    static_cast<void>(core_.release());  // what UCX has belongs to the parent
    return;
  }
  UcxCore& core = *core_;
  if (core.worker != nullptr) {
    end_within(core.options.max_ending_ns);
    core.ucp.ucp_worker_destroy(core.worker);
    core.endpoints.clear();  // UCX has had their addresses until here
  }
  for (ucp_mem_h const memory : core.buried_memory) {
    core.ucp.ucp_mem_unmap(core.context, memory);
  }
  if (core.context != nullptr) {
    core.ucp.ucp_cleanup(core.context);
  }
}

// Sleeps while UCX has nothing to do.
void UcxWorker::end_within(std::uint64_t time_ns) noexcept {
  const std::uint64_t until_ns = os::now_ns() + time_ns;
  while (!prepare_end() && os::now_ns() < until_ns) {
    if (may_sleep()) {
      pollfd event{.fd = core_->descriptor, .events = POLLIN, .revents = 0};
      static_cast<void>(::poll(&event, 1, longest_look_ms));
    }
  }
}

std::size_t UcxWorker::unused_endpoints() const noexcept {
  return static_cast<std::size_t>(std::count_if(core_->endpoints.begin(), core_->endpoints.end(),
                                                [](const auto& endpoint) { return !endpoint->is_used(); }));
}

bool UcxWorker::prepare_end() noexcept {
  if (!mine()) {
    return true;  // the destructor calls nothing of UCX
  }
  for (const auto& endpoint : core_->endpoints) {
    endpoint->close();
  }
  while (progress() > 0) {
  }
  return std::none_of(core_->endpoints.begin(), core_->endpoints.end(),
                      [](const auto& endpoint) { return endpoint->is_awaited(); });
}

const UcxOptions& UcxWorker::options() const noexcept {
  return core_->options;
}

std::string_view UcxWorker::address() const noexcept {
  return core_->address;
}

std::string UcxWorker::describe() const {
  const std::string& wanted = core_->options.transports;
  return fmt::format("UCX {}{}{}", core_->ucp.ucp_get_version_string(), wanted.empty() ? "" : " over ", wanted);
}

int UcxWorker::descriptor() const noexcept {
  return core_->descriptor;
}

std::uint64_t UcxWorker::progress_count() const noexcept {
  return core_->progress_count;
}

void UcxWorker::keep(std::shared_ptr<void> used) {
  core_->kept.push_back(std::move(used));
}

bool UcxWorker::mine() const noexcept {
  return core_->fork_generation == os::fork_generation();
}

unsigned UcxWorker::progress() noexcept {
  UcxCore& core = *core_;
  if (core.progresses || !mine()) {
    return 0;
  }
  core.progresses = true;
  ++core.progress_count;
  const unsigned moved = core.ucp.ucp_worker_progress(core.worker);
  core.sweep();
  core.progresses = false;
  return moved;
}

bool UcxWorker::may_sleep() noexcept {
  return core_->ucp.ucp_worker_arm(core_->worker) == UCS_OK;
}

}  // namespace couplet::link
