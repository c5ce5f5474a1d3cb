// The hub's answers about series (announcing, finding, fetching in parts, opening and closing) and about relays. Turns
// requests into answers and news. Pure; a part of HubState. Above: hub_state. Below: series_book (what is known),
// uploads, waiting_requests. Invariants: a description is decoded once, and stored as the bytes that arrived; every
// answer fits into one message. Tests: tests/unit/universe/series_book_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "universe/hub/outbox.hpp"
#include "universe/hub/seats.hpp"
#include "universe/hub/series_book.hpp"
#include "universe/hub/uploads.hpp"
#include "universe/hub/waiting_requests.hpp"

namespace couplet::universe {

// The member that sends a request.
struct Asker {
  ConnectionId connection = 0;
  Place place;
  channel::PeerId peer = 0;
  std::string host;
  bool released = false;    // it was told `complete`
  bool recovering = false;  // members of an earlier hub are coming back
};

class SeriesService {
 public:
  struct Actions {
    // Tells a connection the changes of the batch that waits. Called before an answer from which the member may
    // conclude something about its peers.
    std::function<void(ConnectionId)> tell_changes;
    // Are there ranks that have not come back to this hub yet?
    std::function<bool()> is_awaiting;
    // A member looks for a series that this awaited rank may write, or wants its name. The hub then finds out whether
    // the rank's process lives.
    std::function<void(channel::PeerId)> doubt;
  };
  // seats and outbox outlive this object. relay_mode: the universe's setting 'relay'.
  SeriesService(Seats& seats, Outbox& outbox, std::string relay_mode, Actions actions)
      : seats_(seats), outbox_(outbox), relay_mode_(std::move(relay_mode)), actions_(std::move(actions)) {}

  void take(const Asker& asker, const AnnounceMessage& message);
  void take(const Asker& asker, const FindMessage& message);
  void take(const Asker& asker, const FetchMessage& message);
  void take(const Asker& asker, const NoteMessage& message, std::uint64_t now_ns);
  void take(const Asker& asker, const RelayOfMessage& message);
  void take(const Asker& asker, const CancelMessage& message) { waiting_.cancel({asker.connection, message.request}); }

  // Takes what a member that has come back does with series, and asks it for the descriptions that are missing.
  Status claim(const Asker& asker, const RejoinMessage& message, std::uint64_t now_ns);
  // Takes a description that was asked for. Returns protocol if the bytes are not a description.
  Status take(const Asker& asker, const RecordMessage& message, std::uint64_t now_ns);

  // A relay has come: answers the members that have waited for it.
  void relay_came(std::uint16_t node, channel::PeerId relay);
  // Tells a member the news of every series that it has open or writes.
  void tell_all(ConnectionId connection, channel::PeerId peer);
  // The connection has ended: drops its requests.
  void drop(ConnectionId connection);
  // The peer has left or is lost. Its program may have no rank left.
  void peer_gone(channel::PeerId peer, std::uint64_t now_ns) {
    tell(book_.peer_gone(peer, now_ns));
    tell_opened({});
  }
  void program_gone(const std::string& program) { book_.program_gone(program); }
  [[nodiscard]] SeriesBook& book() noexcept { return book_; }
  [[nodiscard]] const SeriesBook& book() const noexcept { return book_; }

 private:
  Status check(const Asker& asker, const SeriesRecord& record) const;
  void announced(const Asker& asker, RequestId request, std::string description);
  void found(const WaitingRequests::Key& key, const SeriesBook::Stored& stored, std::uint64_t offset);
  [[nodiscard]] std::string why_unknown(const std::string& name) const;
  void doubt_writers(const std::string& name);
  // Is the process that has made this part not here, and awaited, as far as the hub knows?
  [[nodiscard]] bool may_come(const SeriesPart& part) const;
  void note_gone_programs();
  void tell(const std::vector<SeriesBook::Change>& changes);
  // Tells the writers of series `name` (empty: of all series) which required programs have opened it since the last
  // call.
  void tell_opened(const std::string& name);
  [[nodiscard]] SeriesMessage news_of(const SeriesRecord& record) const;
  // Lets the next hub know what has changed.
  void write_down();
  void note(const char* what, const Asker& asker, const std::string& series, std::uint64_t incarnation);
  [[nodiscard]] ConnectionId connection_of(channel::PeerId peer) const;

  Seats& seats_;
  Outbox& outbox_;
  std::string relay_mode_;
  Actions actions_;
  SeriesBook book_;
  Uploads uploads_;
  WaitingRequests waiting_;
};

}  // namespace couplet::universe
