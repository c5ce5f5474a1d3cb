#include <unistd.h>

#include "connecting_case.hpp"
#include "hub_of_place.hpp"
#include "runtime/file_transport.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::conformance {

struct FilePlace final : Place {
  test::TemporaryDirectory directory;
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
    runtime::FileTransportOptions options;
    options.max_connecting_ns = 200'000'000;
    return runtime::FileTransport::open(host, directory.path(), secret, speaker, options).value();
  }
  bool show_ticket_of(const link::Party& party) override {
    hub.shown = party;
    return true;
  }
  void pause() override { ::usleep(200); }
};

std::unique_ptr<Place> place_of_files() {
  return std::make_unique<FilePlace>();
}

std::unique_ptr<Place> place_of_encrypted_files() {
  auto place = std::make_unique<FilePlace>();
  place->features = channel::feature_encryption;
  return place;
}

COUPLET_TRANSPORT_CONFORMS(file, place_of_files);
COUPLET_TRANSPORT_CONFORMS(file_encrypted, place_of_encrypted_files);

}  // namespace couplet::conformance
