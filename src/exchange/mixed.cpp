#include "exchange/mixed.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "exchange/talk.hpp"

namespace couplet::exchange {
namespace {

constexpr std::size_t on_node = 0;
constexpr std::size_t elsewhere = 1;

// Which part has a port, and the port's number there.
struct Place {
  std::size_t part = on_node;
  std::uint32_t port = 0;
};

class Mixed final : public Method {
 public:
  Mixed(std::string name, std::unique_ptr<Method> mapped, std::unique_ptr<Method> rest, std::vector<Place> places)
      : name_(std::move(name)), parts_{std::move(mapped), std::move(rest)}, places_(std::move(places)) {
    for (auto* const lists : {&sending_, &receiving_}) {
      for (auto& list : *lists) list.reserve(places_.size());
    }
  }

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] bool blocks() const noexcept override { return parts_[elsewhere]->blocks(); }
  [[nodiscard]] bool is_driven() const noexcept override { return parts_[elsewhere]->is_driven(); }
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override;
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override { return part(port).outgoing(places_[port].port); }
  Status send(std::uint32_t port, std::uint64_t bytes) override { return part(port).send(places_[port].port, bytes); }
  Status all_sent() override;
  Status poll() override;
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override {
    return part(port).has_arrived(places_[port].port);
  }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override {
    return part(port).incoming(places_[port].port);
  }
  [[nodiscard]] bool is_complete() const override {
    return parts_[on_node]->is_complete() && parts_[elsewhere]->is_complete();
  }
  Status end() override;
  bool before_sleep(Sleep& sleep) override;
  void after_sleep() noexcept override;
  Result<bool> close() override;
  bool abandon() noexcept override;

 private:
  using Lists = std::array<std::vector<std::uint32_t>, 2>;
  [[nodiscard]] Method& part(std::uint32_t port) const { return *parts_[places_[port].part]; }
  void split(std::span<const std::uint32_t> ports, Lists& lists) const;

  std::string name_;
  std::array<std::unique_ptr<Method>, 2> parts_;
  std::vector<Place> places_;
  Lists sending_;
  Lists receiving_;
  std::array<bool, 2> is_closed_{};
};

void Mixed::split(std::span<const std::uint32_t> ports, Lists& lists) const {
  for (auto& list : lists) list.clear();
  for (const std::uint32_t port : ports) lists[places_[port].part].push_back(places_[port].port);
}

Status Mixed::begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) {
  split(sending, sending_);
  split(receiving, receiving_);
  for (std::size_t index = 0; index < parts_.size(); ++index) {
    COUPLET_TRY(parts_[index]->begin(sending_[index], receiving_[index]));
  }
  return {};
}

Status Mixed::all_sent() {
  for (const auto& part : parts_) COUPLET_TRY(part->all_sent());
  return {};
}

Status Mixed::poll() {
  for (const auto& part : parts_) COUPLET_TRY(part->poll());
  return {};
}

Status Mixed::end() {
  for (const auto& part : parts_) COUPLET_TRY(part->end());
  return {};
}

// It sleeps on the word of the memory. What the other part waits for wakes nobody there, so the sleep is short.
bool Mixed::before_sleep(Sleep& sleep) {
  Sleep rest;
  if (!parts_[elsewhere]->before_sleep(rest)) return false;
  if (!parts_[on_node]->before_sleep(sleep)) {
    parts_[elsewhere]->after_sleep();
    return false;
  }
  sleep.may_block = false;
  return true;
}

void Mixed::after_sleep() noexcept {
  for (const auto& part : parts_) part->after_sleep();
}

Result<bool> Mixed::close() {
  for (std::size_t index = 0; index < parts_.size(); ++index) {
    if (is_closed_[index]) continue;
    COUPLET_TRY_VALUE(is_closed_[index], parts_[index]->close());
  }
  return is_closed_[on_node] && is_closed_[elsewhere];
}

bool Mixed::abandon() noexcept {
  const bool memory_is_free = parts_[on_node]->abandon();
  return parts_[elsewhere]->abandon() && memory_is_free;
}

// Do both parts have something to do somewhere? One member without neighbours on its node is no reason.
Status check_use(Talk& talk, const std::vector<bool>& reached) {
  const bool any_near = std::find(reached.begin(), reached.end(), true) != reached.end();
  const bool any_far = std::find(reached.begin(), reached.end(), false) != reached.end();
  COUPLET_TRY_VALUE(const auto all, talk.gather({any_near ? '1' : '0', any_far ? '1' : '0'}));
  const auto has = [&all](std::size_t place) {
    return std::any_of(all.begin(), all.end(),
                       [place](const std::string& one) { return one.size() > place && one[place] == '1'; });
  };
  if (!has(0)) return fail(Code::unsupported, "no two neighbours share memory");
  if (!has(1)) return fail(Code::unsupported, "all neighbours share memory, so mapped alone is enough");
  return {};
}

}  // namespace

Result<std::unique_ptr<Method>> MixedMaker::make(const Setting& setting, Talk& talk) {
  auto made = mapped_.make_part(setting, talk);
  COUPLET_TRY(talk.agree(made.status()));
  MappedPart& near = *made;
  if (!setting.is_pinned) COUPLET_TRY(check_use(talk, near.reached));
  std::vector<Place> places(setting.ports.size());
  std::vector<std::uint32_t> far;
  std::vector<Port> far_ports;
  for (std::uint32_t port = 0; port < places.size(); ++port) {
    if (near.reached[port]) {
      places[port] = {.part = on_node, .port = port};
      continue;
    }
    places[port] = {.part = elsewhere, .port = static_cast<std::uint32_t>(far.size())};
    far.push_back(port);
    far_ports.push_back(setting.ports[port]);
  }
  Setting rest_setting = setting;
  rest_setting.ports = far_ports;
  PartTalk rest_talk(talk, far, places.size());
  COUPLET_TRY_VALUE(auto rest, rest_.make(rest_setting, rest_talk));
  return std::unique_ptr<Method>(
      std::make_unique<Mixed>(name_, std::move(near.method), std::move(rest), std::move(places)));
}

}  // namespace couplet::exchange
