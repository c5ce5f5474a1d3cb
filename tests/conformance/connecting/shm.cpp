#include "connecting_case.hpp"
#include "link/shm/shm_transport.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::conformance {

struct ShmPlace final : Place {
  struct Member {
    std::unique_ptr<os::ProcessPage> page;
    std::unique_ptr<os::Doorbell> bell;
  };
  test::TemporaryDirectory directory;
  std::map<std::uint32_t, Member> members;

  std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) override {
    os::PageOwner owner;
    owner.peer = self.id;
    owner.incarnation = self.incarnation;
    owner.memory_nonce = std::uint64_t{self.id} * 1000 + self.incarnation;
    owner.rank_count = 10;
    Member member;
    member.page = os::ProcessPage::create(directory.path(), owner).value();
    member.bell = os::Doorbell::open(os::bell_path(directory.path(), self.id), member.page->sleep_flag()).value();
    auto transport =
        link::ShmTransport::open(host, *member.page, directory.path(), {self.id, self.incarnation, owner.memory_nonce});
    members[self.id] = std::move(member);
    return std::move(transport).value();
  }
  void close(const link::Party& self) override { members.erase(self.id); }
};

COUPLET_TRANSPORT_CONFORMS(shm, [] { return std::unique_ptr<Place>(std::make_unique<ShmPlace>()); });

}  // namespace couplet::conformance
