// Opens lanes over a shared directory: dials peers at their inboxes and answers those that dial this process, makes
// handshakes without blocking, and hands over lanes. Both ends of a pair may dial at once: the dial of the lower number
// is used (channel::connection_wins).
// Invariants: nothing that a caller writes is believed before its handshake is done; callers that have not proven
// themselves are bounded; the directory is looked at after at least min_look_ns, and at most max_look_ns later.
// Tests: tests/conformance/connecting, tests/universe/test_file_link.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "link/file/file_inbox.hpp"
#include "link/transport.hpp"
#include "os/timer.hpp"

namespace couplet::runtime {

struct FileTransportOptions {
  link::FileOptions files;
  std::size_t max_unproven_callers = 256;
  // A caller that has not proven itself in this time is disconnected.
  std::uint64_t max_unproven_ns = 5'000'000'000;
  // How long a dial waits until the peer has an inbox.
  std::uint64_t max_connecting_ns = 3'000'000'000;
};

class FileTransport final : public link::Transport {
 public:
  // `self` is the identity of this process, `directory` the shared directory. host outlives the transport. Returns the
  // errors of link::FileInbox::open.
  static Result<std::unique_ptr<FileTransport>> open(link::TransportHost& host, const std::string& directory,
                                                     const channel::Secret& secret, const channel::HandshakeSelf& self,
                                                     const FileTransportOptions& options = {});
  ~FileTransport() override;
  // Returns the contact of a process with this number and incarnation: the name of its inbox.
  static link::Contact contact_of(const link::Party& party);

  [[nodiscard]] std::string_view name() const noexcept override { return "file"; }
  [[nodiscard]] link::Contact contact() const override { return contact_of({self_.id, self_.incarnation}); }
  [[nodiscard]] bool may_break() const noexcept override { return true; }
  [[nodiscard]] Result<std::unique_ptr<link::Lane>> dial(const link::Address& peer, link::Purpose purpose) override;
  void cancel(std::uint32_t peer) override;
  int poll(std::uint64_t now_ns) override;
  [[nodiscard]] bool ready() const override { return false; }
  void tick(std::uint64_t now_ns) override { poll(now_ns); }

 private:
  // A dial of this process, or a caller, until its handshake is done.
  struct Meeting;
  FileTransport(link::TransportHost& host, std::unique_ptr<link::FileInbox> inbox, std::unique_ptr<os::Timer> timer,
                const channel::Secret& secret, const channel::HandshakeSelf& self, const FileTransportOptions& options);

  int take_callers();
  // Returns false if the meeting has ended, with or without success.
  bool drive(Meeting& meeting, std::uint64_t now_ns);
  Status connect(Meeting& meeting);
  [[nodiscard]] Status why_late(Meeting& meeting, std::uint64_t now_ns) const;
  void decide(Meeting& meeting);
  void conclude(Meeting& meeting);
  void give_up(Meeting& meeting, const Status& why);
  void look_after(std::uint64_t delay_ns, std::uint64_t now_ns);
  [[nodiscard]] Meeting* own_dial_to(std::uint32_t peer);
  [[nodiscard]] link::FileAddress address_of(const link::Party& party) const;
  [[nodiscard]] std::string name_for(const Meeting& meeting) const;

  link::TransportHost& host_;
  std::unique_ptr<link::FileInbox> inbox_;
  std::unique_ptr<os::Timer> timer_;
  channel::Secret secret_;
  channel::HandshakeSelf self_;
  FileTransportOptions options_;
  std::vector<std::unique_ptr<Meeting>> meetings_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t delay_ns_;
};

}  // namespace couplet::runtime
