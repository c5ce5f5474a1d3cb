#include "link/fault/fault_transport.hpp"

#include <deque>
#include <utility>

#include "base/random.hpp"

namespace couplet::link {
namespace {

class FaultTransport final : public Transport, private TransportHost {
 public:
  FaultTransport(TransportHost& host, const MakeTransport& make, const FaultDialOptions& options, std::uint64_t seed)
      : host_(host), options_(options), random_(seed), seed_(seed), inner_(make(*this)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] Contact contact() const override { return inner_->contact(); }
  [[nodiscard]] std::string_view contact_name() const noexcept override { return inner_->contact_name(); }
  [[nodiscard]] bool may_break() const noexcept override { return inner_->may_break(); }
  [[nodiscard]] Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose purpose) override {
    if (random_.chance(options_.lose)) {
      waiting_.push_back(
          {.party = peer.party, .failure = fail(Code::peer_lost, "the dial was lost"), .polls = delay()});
      return Code::not_yet;
    }
    auto lane = inner_->dial(peer, purpose);
    return lane.ok() ? Result<std::unique_ptr<Lane>>(wrapped(std::move(*lane))) : std::move(lane);
  }
  void cancel(std::uint32_t peer) override {
    std::erase_if(waiting_, [&](const Waiting& each) { return each.party.id == peer; });
    inner_->cancel(peer);
  }
  [[nodiscard]] Result<std::unique_ptr<Lane>> left_by(const Address& peer) override { return inner_->left_by(peer); }
  int poll(std::uint64_t now_ns) override {
    const int work = inner_->poll(now_ns);
    tell();
    return work;
  }
  [[nodiscard]] bool ready() const override { return !waiting_.empty() || inner_->ready(); }
  void tick(std::uint64_t now_ns) override {
    inner_->tick(now_ns);
    tell();
  }

 private:
  // A dial that has failed, which is reported later.
  struct Waiting {
    Party party;
    DialFailure failure;
    std::uint32_t polls = 0;
  };
  [[nodiscard]] std::uint32_t delay() {
    return random_.chance(options_.delay) ? static_cast<std::uint32_t>(random_.below(options_.max_delay_polls)) : 0;
  }
  std::unique_ptr<Lane> wrapped(std::unique_ptr<Lane> lane) {
    return make_fault_lane(std::move(lane), options_.lane, ++seed_);
  }
  void tell() {
    for (std::size_t left = waiting_.size(); left > 0; --left) {
      Waiting first = std::move(waiting_.front());
      waiting_.pop_front();
      if (first.polls > 0) {
        --first.polls;
        waiting_.push_back(std::move(first));
      } else {
        host_.not_connected(*this, first.party, first.failure);
      }
    }
  }

  [[nodiscard]] Status consider(Transport& /*inner*/, const Offer& offer) override {
    if (random_.chance(options_.delay)) {
      return Code::not_yet;
    }
    return host_.consider(*this, offer);
  }
  [[nodiscard]] Result<Address> address_of(const Transport& /*inner*/, std::uint32_t id) const override {
    return host_.address_of(*this, id);
  }
  void connected(Transport& /*inner*/, const Offer& offer, std::unique_ptr<Lane> lane, Origin origin) override {
    host_.connected(*this, offer, wrapped(std::move(lane)), origin);
  }
  void not_connected(Transport& /*inner*/, const Party& peer, const DialFailure& failure) override {
    waiting_.push_back({.party = peer, .failure = failure, .polls = delay()});
  }
  [[nodiscard]] std::string name_of(std::uint32_t id) const override { return host_.name_of(id); }
  [[nodiscard]] Status watch(Transport& /*inner*/, int descriptor, bool write) override {
    return host_.watch(*this, descriptor, write);
  }
  void unwatch(int descriptor) override { host_.unwatch(descriptor); }

  TransportHost& host_;
  FaultDialOptions options_;
  Random random_;
  std::uint64_t seed_;
  std::deque<Waiting> waiting_;
  std::unique_ptr<Transport> inner_;
};

}  // namespace

std::unique_ptr<Transport> make_fault_transport(TransportHost& host, const MakeTransport& make,
                                                const FaultDialOptions& options, std::uint64_t seed) {
  return std::make_unique<FaultTransport>(host, make, options, seed);
}

}  // namespace couplet::link
