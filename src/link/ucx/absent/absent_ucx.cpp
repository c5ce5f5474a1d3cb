// What the link ucx is in a build for which UCX was not found: each attempt to use it says that.
#include "link/ucx/ucx_meeting.hpp"
#include "link/ucx/ucx_memory.hpp"
#include "link/ucx/ucx_worker.hpp"

namespace couplet::link {
namespace {

Status absent() {
  return fail(Code::unsupported, "this build of Couplet has no UCX; it needs the package libucx-dev");
}

}  // namespace

struct UcxCore {};
struct UcxConnection {};

// No worker is ever made, so nothing else here is called.
Result<std::shared_ptr<UcxWorker>> UcxWorker::open(const UcxOptions& /*options*/) {
  return absent();
}
UcxWorker::~UcxWorker() = default;
const UcxOptions& UcxWorker::options() const noexcept {
  static const UcxOptions none;
  return none;
}
std::string_view UcxWorker::address() const noexcept {
  return {};
}
std::string UcxWorker::describe() const {
  return absent().text();
}
int UcxWorker::descriptor() const noexcept {
  return -1;
}
unsigned UcxWorker::progress() noexcept {
  return 0;
}
bool UcxWorker::may_sleep() noexcept {
  return true;
}
std::size_t UcxWorker::unused_endpoints() const noexcept {
  return 0;
}
bool UcxWorker::prepare_end() noexcept {
  return true;
}
bool UcxWorker::mine() const noexcept {
  return true;
}
void UcxWorker::keep(std::shared_ptr<void> /*used*/) {}

Result<std::unique_ptr<UcxMeeting>> UcxMeeting::open(std::shared_ptr<UcxWorker> /*worker*/, os::Descriptor /*socket*/,
                                                     const std::optional<SessionKeys>& /*keys*/) {
  return absent();
}
UcxMeeting::~UcxMeeting() = default;
Status UcxMeeting::poll() {
  return absent();
}
Result<std::unique_ptr<Lane>> UcxMeeting::lane() {
  return absent();
}
void UcxMeeting::give_up(const Status& /*why*/) noexcept {}
int UcxMeeting::descriptor() const noexcept {
  return -1;
}

Result<std::unique_ptr<OwnMemory>> UcxPuts::own(std::size_t /*bytes*/) {
  return absent();
}
Result<std::unique_ptr<PutTarget>> UcxPuts::target(std::string_view /*invitation*/) {
  return absent();
}
Status UcxPuts::fence() {
  return absent();
}

}  // namespace couplet::link
