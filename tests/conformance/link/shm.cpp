#include "link/shm/shm_link.hpp"
#include "link_case.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::conformance {

struct ShmConnection final : Connection {
  test::TemporaryDirectory directory;
  std::unique_ptr<os::ProcessPage> pages[2];
  std::unique_ptr<os::Doorbell> bells[2];
  std::unique_ptr<link::ShmLink> links[2];
  ~ShmConnection() override {
    first.reset();
    second.reset();
  }
};

std::unique_ptr<Connection> connect_shm() {
  auto connection = std::make_unique<ShmConnection>();
  const std::string& directory = connection->directory.path();
  const link::ShmPeer peers[2] = {{.peer = 3, .incarnation = 1, .memory_nonce = 33},
                                  {.peer = 8, .incarnation = 1, .memory_nonce = 88}};
  for (int end = 0; end < 2; ++end) {
    os::PageOwner owner;
    owner.peer = peers[end].peer;
    owner.incarnation = peers[end].incarnation;
    owner.memory_nonce = peers[end].memory_nonce;
    owner.rank_count = 10;
    connection->pages[end] = os::ProcessPage::create(directory, owner).value();
    connection->bells[end] =
        os::Doorbell::open(os::bell_path(directory, owner.peer), connection->pages[end]->sleep_flag()).value();
    connection->links[end] = link::ShmLink::open(directory, peers[end]).value();
  }
  connection->first = connection->links[0]->connect(peers[1]).value();
  connection->second = connection->links[1]->accept(peers[0]).value();
  return connection;
}
COUPLET_LINK_CONFORMS(shm, connect_shm);

}  // namespace couplet::conformance
