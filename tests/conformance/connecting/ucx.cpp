#include "support/ucx.hpp"

#include <unistd.h>

#include "connecting_case.hpp"
#include "hub_of_place.hpp"
#include "runtime/ucx_transport.hpp"

namespace couplet::conformance {
namespace {

// A process meets its peers for UCX over the listener of its transport tcp.
class BothTransports final : public link::Transport {
 public:
  BothTransports(std::unique_ptr<runtime::TcpTransport> tcp, std::unique_ptr<runtime::UcxTransport> ucx)
      : ucx_(std::move(ucx)), tcp_(std::move(tcp)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return ucx_->name(); }
  [[nodiscard]] link::Contact contact() const override { return ucx_->contact(); }
  [[nodiscard]] bool may_break() const noexcept override { return ucx_->may_break(); }
  [[nodiscard]] Result<std::unique_ptr<link::Lane>> dial(const link::Address& peer, link::Purpose purpose) override {
    return ucx_->dial(peer, purpose);
  }
  void cancel(std::uint32_t peer) override { ucx_->cancel(peer); }
  int poll(std::uint64_t now_ns) override { return tcp_->poll(now_ns) + ucx_->poll(now_ns); }
  [[nodiscard]] bool ready() const override { return tcp_->ready() || ucx_->ready(); }
  void tick(std::uint64_t now_ns) override {
    tcp_->tick(now_ns);
    ucx_->tick(now_ns);
  }

 private:
  std::unique_ptr<runtime::UcxTransport> ucx_;
  std::unique_ptr<runtime::TcpTransport> tcp_;
};

struct UcxPlace final : Place {
  explicit UcxPlace(const char* over) : transports(over) {}
  const char* transports;
  channel::Secret secret;
  HubOfPlace hub;
  std::uint64_t features = 0;
  std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) override {
    channel::HandshakeSelf speaker;
    speaker.id = self.id;
    speaker.incarnation = self.incarnation;
    speaker.run_id = 4711;
    speaker.credentials = hub.credentials_of(self);
    speaker.features = features;
    auto listener = link::TcpListener::open(os::resolve("127.0.0.1:0").value()).value();
    const os::Endpoint endpoint = listener->endpoint();
    auto worker = link::UcxWorker::open(test::ucx_over(transports));
    auto ucx = runtime::UcxTransport::open(host, worker, secret, speaker, endpoint).value();
    runtime::TcpTransportOptions options;
    options.guests = ucx.get();
    auto tcp = runtime::TcpTransport::open(host, std::move(listener), secret, speaker, options).value();
    return std::make_unique<BothTransports>(std::move(tcp), std::move(ucx));
  }
  bool show_ticket_of(const link::Party& party) override {
    hub.shown = party;
    return true;
  }
  void pause() override { ::usleep(200); }
};

std::unique_ptr<Place> encrypted_place() {
  auto place = std::make_unique<UcxPlace>(test::ucx_memory);
  place->features = channel::feature_encryption;
  return place;
}

// There are none on a machine without UCX, which UcxLink.IsThere says.
std::vector<ConnectingCase> cases() {
  if (!test::ucx_is_there().ok()) {
    return {};
  }
  std::vector<ConnectingCase> all;
  for (const bool faulty : {false, true}) {
    const std::string end = faulty ? "_under_fault" : "";
    all.push_back({"ucx_memory" + end, [] { return std::make_unique<UcxPlace>(test::ucx_memory); }, faulty});
    all.push_back({"ucx_tcp" + end, [] { return std::make_unique<UcxPlace>(test::ucx_network); }, faulty});
  }
  all.push_back({"ucx_encrypted", encrypted_place, false});
  return all;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(ucx, Connecting, testing::ValuesIn(cases()), name_of_case);

}  // namespace couplet::conformance
