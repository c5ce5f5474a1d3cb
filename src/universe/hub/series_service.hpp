// The hub's answers about series: announcing, finding, fetching in parts, opening and closing; and about relays. Turns
// requests into answers and news. Pure; a part of HubState. Above: hub_state. Below: series_book (what is known),
// uploads, waiting_requests. Invariants: a description is decoded once and stored as the bytes that came; every answer
// is at most a message long. Tests: tests/unit/universe/test_series_book.cpp.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "universe/hub/outbox.hpp"
#include "universe/hub/seats.hpp"
#include "universe/hub/series_book.hpp"
#include "universe/hub/uploads.hpp"
#include "universe/hub/waiting_requests.hpp"

namespace couplet::universe {

// Who asks.
struct Asker {
  ConnectionId connection = 0;
  Place place;
  channel::PeerId peer = 0;
  std::string host;
  bool released = false;  // it has joined
};

class SeriesService {
 public:
  // Both outlive this object. relay_mode: the universe's setting 'relay'. tell_changes: tells a connection what has
  // changed and is not told yet; called before an answer from which the member may conclude something about its peers.
  SeriesService(Seats& seats, Outbox& outbox, std::string relay_mode, std::function<void(ConnectionId)> tell_changes)
      : seats_(seats), outbox_(outbox), relay_mode_(std::move(relay_mode)), tell_changes_(std::move(tell_changes)) {}

  void take(const Asker& asker, const AnnounceMessage& message, std::uint64_t now_ns);
  void take(const Asker& asker, const FindMessage& message);
  void take(const Asker& asker, const FetchMessage& message);
  void take(const Asker& asker, const NoteMessage& message, std::uint64_t now_ns);
  void take(const Asker& asker, const RelayOfMessage& message);
  void take(const Asker& asker, const CancelMessage& message) { waiting_.cancel({asker.connection, message.request}); }

  // A member of an earlier hub says what it does with series; what it must be asked for is asked for.
  Status claim(const Asker& asker, const std::vector<SeriesClaim>& claims, std::uint64_t now_ns);
  // A description that was asked for. protocol: it is none.
  Status take(const Asker& asker, const RecordMessage& message, std::uint64_t now_ns);

  // A relay has come: those who waited for it are told.
  void relay_came(std::uint16_t node, channel::PeerId relay);
  // News of every series that the peer has open or writes.
  void tell_all(ConnectionId connection, channel::PeerId peer);
  // The connection asks no more.
  void drop(ConnectionId connection);
  // The peer has left or is lost, or its program has no rank left.
  void peer_gone(channel::PeerId peer, std::uint64_t now_ns) {
    tell(book_.peer_gone(peer, now_ns));
    tell_opened({});
  }
  void program_gone(const std::string& program) { book_.program_gone(program); }
  [[nodiscard]] SeriesBook& book() noexcept { return book_; }
  [[nodiscard]] const SeriesBook& book() const noexcept { return book_; }

 private:
  Status check(const Asker& asker, const SeriesRecord& record) const;
  void announced(const Asker& asker, RequestId request, std::string description, std::uint64_t now_ns);
  void found(const WaitingRequests::Key& key, const SeriesBook::Stored& stored, std::uint64_t offset);
  void tell(const std::vector<SeriesBook::Change>& changes);
  // Tells the writers of series `name` (empty: of all) which required programs have opened it since.
  void tell_opened(const std::string& name);
  [[nodiscard]] SeriesMessage news_of(const SeriesRecord& record) const;
  void note(const char* what, const Asker& asker, const std::string& series, std::uint64_t incarnation);
  [[nodiscard]] ConnectionId connection_of(channel::PeerId peer) const;

  Seats& seats_;
  Outbox& outbox_;
  std::string relay_mode_;
  std::function<void(ConnectionId)> tell_changes_;
  SeriesBook book_;
  Uploads uploads_;
  WaitingRequests waiting_;
};

}  // namespace couplet::universe
