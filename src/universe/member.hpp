// A process's side of its connection to the hub. It implements Membership and SeriesRegistry for the layers above.
// Private to universe/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "universe/control_connection.hpp"
#include "universe/hub_requests.hpp"
#include "universe/join.hpp"
#include "universe/liveness.hpp"
#include "universe/membership.hpp"
#include "universe/node_directory.hpp"
#include "universe/redial.hpp"
#include "universe/series_account.hpp"

namespace couplet::universe {

class Member final : public Membership, public SeriesRegistry, public engine::Source, private Liveness::Host {
 public:
  explicit Member(JoinOptions options);
  ~Member() override;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  // Does everything that join() does. If it fails, the member cannot be used.
  Status join();

  // Membership
  [[nodiscard]] channel::PeerId id() const noexcept override { return id_; }
  [[nodiscard]] std::int32_t rank() const noexcept override {
    return options_.relay ? -1 : static_cast<std::int32_t>(id_);
  }
  [[nodiscard]] std::int32_t size() const noexcept override { return static_cast<std::int32_t>(ranks_.size()); }
  [[nodiscard]] std::int32_t program() const noexcept override { return program_; }
  [[nodiscard]] const std::vector<ProgramInfo>& programs() const noexcept override { return programs_; }
  [[nodiscard]] const PeerInfo& peer(channel::PeerId id) const noexcept override;
  bool ask_contact(channel::PeerId id) override;
  [[nodiscard]] std::string_view node_name(std::uint16_t node) const noexcept override;
  [[nodiscard]] std::uint16_t node() const noexcept override { return node_; }
  [[nodiscard]] std::string peer_name(channel::PeerId id) const override;
  [[nodiscard]] std::uint64_t run_id() const noexcept override { return run_id_; }
  [[nodiscard]] const std::string& node_directory() const noexcept override { return directory_->path(); }
  [[nodiscard]] std::string setting(std::string_view key) const override { return setting_value(settings_, key); }
  [[nodiscard]] SeriesRegistry& registry() noexcept override { return *this; }
  [[nodiscard]] os::ProcessPage& page() noexcept override { return *page_; }
  [[nodiscard]] os::Doorbell& doorbell() noexcept override { return *doorbell_; }
  [[nodiscard]] Security security() const noexcept override {
    return {options_.secret, protection_, options_.credentials};
  }
  Status attach(engine::Engine* engine) override;
  [[nodiscard]] Status hub() const override { return hub_status_; }
  [[nodiscard]] bool over() const override { return !hub_says_over_.empty(); }
  void on_lost(Liveness::Handler handler, Liveness::StillSends still_sends) override {
    liveness_.on_lost(std::move(handler), std::move(still_sends));
  }
  void cannot_reach(channel::PeerId id, std::uint16_t incarnation, LossProof proof, const Status& why) override;
  void on_call_back(std::function<void(channel::PeerId)> handler) override { call_back_ = std::move(handler); }
  Status alive(channel::PeerId id, std::uint16_t incarnation) override { return liveness_.alive(id, incarnation); }
  bool catch_up(CatchUp extent) override;
  Status leave(std::uint64_t deadline_ns) override;

  // SeriesRegistry
  Result<SeriesRecord> announce(const SeriesRecord& record, std::uint64_t deadline_ns) override;
  Result<SeriesRecord> find(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) override;
  void learned(const SeriesRecord& record, const std::string& description) override;
  Status creating(const std::string& name, std::uint64_t creation) override;
  void created(const std::string& name, std::uint64_t creation, std::optional<std::uint64_t> incarnation) override;
  Status writer_closed(const std::string& name, std::uint64_t deadline_ns) override;
  Status reader_opened(const std::string& name, std::uint64_t incarnation, const OpenerRanks& openers,
                       std::uint64_t deadline_ns) override;
  void withdraw(const std::string& name, std::uint64_t creation, std::uint64_t deadline_ns) override;
  Status reader_closed(const std::string& name, std::uint64_t deadline_ns) override;
  [[nodiscard]] News news(const std::string& name) const override;
  Result<channel::PeerId> relay_of(std::uint16_t node, std::uint64_t deadline_ns) override;

  // engine::Source
  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override;
  void tick(std::uint64_t now_ns) override;

 private:
  // Liveness::Host; peer_name is above
  [[nodiscard]] PeerInfo* find_peer(channel::PeerId id) noexcept override;
  void hear() override;
  [[nodiscard]] bool hub_answers() const noexcept override { return hub_status_.ok(); }
  [[nodiscard]] std::vector<channel::PeerId> peers_on(std::uint16_t node) const override;

  // member_join.cpp
  Status connect(std::uint64_t deadline_ns);
  Status connect_once(std::uint64_t deadline_ns);
  Status dial();
  Status enter_node(std::uint64_t deadline_ns);
  Status present();
  Status wait(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what,
              bool interruptible = false);
  Status wait_on_socket(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what);
  void watch();

  // member_return.cpp: the hub goes away, and comes back
  void hub_lost(const Status& why);
  void dial_again(std::uint64_t now_ns);
  void introduce();
  void hub_is_back();
  [[nodiscard]] RejoinMessage rejoin_message() const;
  [[nodiscard]] bool hub_may_return() const;
  [[nodiscard]] bool answers_may_come() const;

  // member.cpp: messages of the hub
  Status take(const ControlConnection::Arrived& arrived);
  Status heard(AdmittedMessage& message);
  Status heard(PlacedMessage& message);
  Status heard(NodesMessage& message);
  Status heard(StatesMessage& message);
  Status heard(ContactsMessage& message);
  Status heard(CompleteMessage& message);
  Status heard(WaitingMessage& message);
  Status heard(RefusedMessage& message);
  Status heard(AnswerMessage& message);
  Status heard(SeriesMessage& message);
  Status heard(GoodbyeMessage& message);
  Status heard(OverMessage& message);
  Status heard(RejoinedMessage& message);
  Status heard(RecallMessage& message);
  Status heard(LookMessage& message);
  Status heard(CallBackMessage& message);
  void say(const MemberMessage& message);
  void update_run(const PeerRun& run, const std::string& why);

  // member_registry.cpp
  // A request with a key that is not answered in time is kept, and any other one is taken back.
  Result<AnswerMessage> await_answer(RequestId request, std::uint64_t deadline_ns, const std::string& what,
                                     bool interruptible = false);
  [[nodiscard]] Status may_ask(const std::string& what) const override;
  Status note_series(NoteMessage note, std::uint64_t deadline_ns);

  JoinOptions options_;
  std::unique_ptr<ControlConnection> connection_;
  engine::Engine* engine_ = nullptr;
  int watched_ = -1;
  bool watched_write_ = false;

  os::Endpoint hub_;  // the address at which the hub listens
  bool admitted_ = false;
  bool placed_ = false;
  bool complete_ = false;
  bool goodbye_ = false;
  bool left_ = false;
  bool reached_ = false;        // a connection to the hub has been open before
  bool reached_again_ = false;  // it was lost, and the hub was dialed again
  bool introduced_ = false;     // this process has named itself on this connection
  bool broken_ = false;         // this connection has ended, and that was noted
  struct Refusal {
    Status final;       // this process is not dialing any longer
    std::string noted;  // why a hub that was started again does not take this process back
    bool on_this_connection = false;
  };
  Refusal refusal_;
  Status hub_status_;
  std::string hub_says_over_;
  Redial redial_;
  std::uint64_t hub_lost_ns_ = 0;  // since when there is no connection to the hub
  std::uint32_t epoch_ = 0;
  std::uint64_t join_deadline_ns_ = 0;

  channel::PeerId id_ = channel::no_peer;
  std::int32_t program_ = -1;
  std::uint16_t node_ = 0;
  std::uint16_t incarnation_ = 0;
  std::uint64_t run_id_ = 0;
  channel::Protection protection_ = channel::Protection::none;
  SettingMap settings_;
  std::vector<ProgramInfo> programs_;
  std::vector<PeerInfo> ranks_;
  std::map<channel::PeerId, PeerInfo> relays_;
  std::vector<std::string> node_names_;
  Liveness liveness_{*this};

  Contact contact_;  // that of this process
  std::function<void(channel::PeerId)> call_back_;
  // Peers that have asked to be dialed, and of which call_back_ was not told yet.
  std::vector<channel::PeerId> callers_;
  HubRequests requests_{[this](const MemberMessage& message) {
    if (hub_status_.ok()) {  // otherwise the requests are sent when the hub is back
      say(message);
    }
  }};
  SeriesAccount account_;
  // When a block of contacts was asked for, by the first peer of the block.
  std::unordered_map<channel::PeerId, std::uint64_t> contacts_asked_;
  std::map<std::string, News> news_;

  std::unique_ptr<NodeDirectory> directory_;
  std::unique_ptr<os::ProcessPage> page_;
  std::unique_ptr<os::Doorbell> doorbell_;
};

}  // namespace couplet::universe
