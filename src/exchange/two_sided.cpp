#include "exchange/two_sided.hpp"

#include <algorithm>
#include <vector>

#include "exchange/buffer.hpp"

namespace couplet::exchange {
namespace {

using message::Courier;
using message::Request;

constexpr std::int32_t data_tag = 0;

class TwoSided final : public Method {
 public:
  TwoSided(message::Messenger& messenger, const Setting& setting);

  [[nodiscard]] std::string_view name() const noexcept override { return "two_sided"; }
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override;
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override { return ports_[port].out.get(); }
  Status send(std::uint32_t port, std::uint64_t bytes) override;
  Status all_sent() override { return {}; }
  Status poll() override;
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override { return ports_[port].has_arrived; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override {
    return {ports_[port].in.get(), ports_[port].arrived_bytes};
  }
  [[nodiscard]] bool is_complete() const override { return under_way_ == 0; }
  Status end() override;
  bool before_sleep(Sleep& sleep) override;
  void after_sleep() noexcept override {}
  Result<bool> close() override { return abandon(); }
  bool abandon() noexcept override;

 private:
  struct Place {
    Port port;
    Buffer out;
    Buffer in;
    Request* sending = nullptr;
    Request* receiving = nullptr;
    std::uint64_t arrived_bytes = 0;
    bool has_arrived = false;
  };
  void receive(Place& place);
  bool end_requests() noexcept;

  Courier courier_;
  message::Group& group_;
  std::uint32_t context_;
  std::vector<Place> ports_;
  std::span<const std::uint32_t> receiving_;
  std::span<const std::uint32_t> sending_;
  std::size_t under_way_ = 0;  // sends
  const TypeInfo& byte_ = *find_type(COUPLET_BYTE);
};

TwoSided::TwoSided(message::Messenger& messenger, const Setting& setting)
    : courier_(messenger), group_(*setting.group), context_(setting.context) {
  ports_.resize(setting.ports.size());
  for (std::size_t index = 0; index < ports_.size(); ++index) {
    Place& place = ports_[index];
    place.port = setting.ports[index];
    place.out = make_buffer(place.port.out_bytes);
    place.in = make_buffer(place.port.in_bytes);
  }
  for (Place& place : ports_) {
    if (place.port.receives) receive(place);
  }
}

void TwoSided::receive(Place& place) {
  place.has_arrived = false;
  place.receiving =
      courier_.receive(group_, context_, data_tag, place.in.get(), place.port.in_bytes, byte_, place.port.peer);
}

Status TwoSided::begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) {
  sending_ = sending;
  receiving_ = receiving;
  return {};
}

Status TwoSided::send(std::uint32_t port, std::uint64_t bytes) {
  Place& place = ports_[port];
  COUPLET_TRY_VALUE(place.sending,
                    courier_.send(group_, context_, data_tag, place.out.get(), bytes, byte_, place.port.peer));
  if (place.sending->done) return courier_.end(place.sending);
  ++under_way_;
  return {};
}

Status TwoSided::poll() {
  if (under_way_ > 0) {
    for (const std::uint32_t port : sending_) {
      Request*& request = ports_[port].sending;
      if (request == nullptr || !request->done) continue;
      --under_way_;
      COUPLET_TRY(courier_.end(request));
    }
  }
  for (const std::uint32_t port : receiving_) {
    Place& place = ports_[port];
    if (place.receiving == nullptr) continue;
    if (!place.receiving->done) {
      static_cast<void>(courier_.poll(*place.receiving));
      if (!place.receiving->done) continue;
    }
    place.arrived_bytes = place.receiving->result.bytes;
    COUPLET_TRY(courier_.end(place.receiving));
    place.has_arrived = true;
  }
  return {};
}

Status TwoSided::end() {
  for (const std::uint32_t port : receiving_) receive(ports_[port]);
  return {};
}

// Whatever brings a message wakes the engine.
bool TwoSided::before_sleep(Sleep& sleep) {
  sleep = {.may_block = true};
  return true;
}

bool TwoSided::end_requests() noexcept {
  bool is_over = true;
  for (Place& place : ports_) {
    for (Request** const request : {&place.sending, &place.receiving}) {
      if (*request == nullptr) continue;
      if ((*request)->done) {
        static_cast<void>(courier_.end(*request));
      } else if (!courier_.withdraw(*request) && !courier_.detach(*request)) {
        is_over = false;
      }
    }
  }
  return is_over;
}

bool TwoSided::abandon() noexcept {
  if (!end_requests()) return false;
  for (const Place& place : ports_) courier_.drop(group_.peer(place.port.peer), context_);
  return true;
}

}  // namespace

Result<std::unique_ptr<Method>> TwoSidedMaker::make(const Setting& setting, Talk& /*talk*/) {
  return std::unique_ptr<Method>(std::make_unique<TwoSided>(messenger_, setting));
}

}  // namespace couplet::exchange
