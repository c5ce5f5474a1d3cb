// The ranks of the universe as a messenger sees them: the state of the messages from and to each one, its channel and
// limits, and whether it is lost. A state is made when the first message needs it, and kept.
// Tests: tests/unit/message/messenger_test.cpp, link_limits_test.cpp; tests/conformance/message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/channels.hpp"
#include "engine/engine.hpp"
#include "message/credit.hpp"
#include "message/flow.hpp"
#include "message/options.hpp"

namespace couplet::message {

class Sending;

class Peers {
 public:
  // engine: may be nullptr. sending: what gets back the frames of messages. All of them outlive this.
  Peers(channel::Channels& channels, engine::Engine* engine, channel::PeerId self, std::int32_t universe_size,
        MessengerOptions& options, Credit& credit, Sending& sending);

  [[nodiscard]] channel::PeerId self() const noexcept { return self_; }
  [[nodiscard]] bool has(channel::PeerId peer) const noexcept { return peer < flows_.size(); }
  // Returns the state of a rank of the universe; nullptr if there is none yet.
  [[nodiscard]] Flow* find(channel::PeerId peer) const noexcept { return flows_[peer].get(); }
  // Returns the state of a rank of the universe, which is made if there is none yet.
  Flow& to(channel::PeerId peer);
  // Returns the state of the channel's peer, or nullptr if the peer is not a rank of the universe.
  Flow* of(channel::Channel& channel);
  [[nodiscard]] const std::vector<std::unique_ptr<Flow>>& all() const noexcept { return flows_; }
  [[nodiscard]] std::string name(channel::PeerId peer) const { return channels_.peer_name(peer); }

  // Makes the flow ready for sending, as far as that is possible now.
  Status settle(Flow& flow);
  // Takes over the limits of the channel's lane.
  void set_limits(Flow& flow) const;
  // Sets the size up to which messages are sent without asking, for one peer or, if none is given, for all.
  void set_eager_bytes(std::uint64_t bytes, std::optional<channel::PeerId> peer);

  // Marks the peer as lost: calls that need it fail with flow.loss from now on.
  void lose(Flow& flow, const Status& why) noexcept;
  // The request ends with the loss of its peer. If it is one of the user's, the user then knows of the loss.
  static void told(const Request& request) noexcept;
  // The user knows of so many deaths of the peer.
  static void told(Flow& flow, std::uint32_t deaths) noexcept;
  // The user sends to a peer that was lost. If the peer has returned, and nothing of its earlier life can be received
  // any longer, the user speaks with its new life, and need not be told.
  static void spoken_to(Flow& flow) noexcept;
  // The peer has a new incarnation, to which all calls from now on refer.
  void take_back(channel::PeerId peer);
  // Checks whether lost peers have returned. Calls to a lost peer fail at once, so a caller that repeats them would
  // otherwise never learn of the return.
  void look_for_returned() noexcept;
  // Returns the loss with its text, or only its code if there is no memory.
  [[nodiscard]] Status loss_of(const Flow& flow, const Status& why) const noexcept;
  // How many peers are lost now?
  [[nodiscard]] std::size_t lost() const noexcept { return lost_; }
  // How often was any peer lost?
  [[nodiscard]] std::uint64_t losses() const noexcept { return losses_; }
  // Returns peer_lost if all members of the group but this process are lost, and ok if it has no other member.
  [[nodiscard]] Status all_others_lost(const Group& group) const;
  // Returns peer_lost if all possible senders of the message are lost.
  [[nodiscard]] Status senders_left(const Request& request) const;

 private:
  void adopt(Flow& flow, channel::Channel& channel);
  [[nodiscard]] Status loss_text(const Flow& flow, const Status& why) const;

  channel::Channels& channels_;
  engine::Engine* engine_;
  channel::PeerId self_;
  MessengerOptions& options_;
  Credit& credit_;
  Sending& sending_;
  std::vector<std::unique_ptr<Flow>> flows_;  // by rank in the universe; made on first use
  std::size_t lost_ = 0;
  std::uint64_t losses_ = 0;
};

}  // namespace couplet::message
