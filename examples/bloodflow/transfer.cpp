#include "transfer.hpp"

#include <map>

namespace bloodflow {
namespace {

struct Value {
  std::int32_t site, direction;
};

// What a site needs, in the order in which it is sent: its 19 sources, and after them what its corrections need.
struct Needs {
  std::vector<Value> values;
  std::vector<Correction> corrections;  // `other` is a place in `values`
};

// Interpolates between the values around the wall (Bouzidi, Firdaouss and Lallemand 2001, linear).
Correction wall_correction(const Vessel& vessel, std::int32_t site, int direction, double q, Needs& needs) {
  Correction one{.kind = Link::Kind::wall, .direction = direction};
  const int away = opposite(direction);
  one.other = static_cast<Place>(needs.values.size());
  if (q < 0.5) {
    const Link behind = vessel.link(site, away);
    if (behind.kind != Link::Kind::fluid) {  // nothing to interpolate with: the wall is taken to be half way
      one.own_share = 1;
      needs.values.push_back({site, away});
      return one;
    }
    one.own_share = 2 * q;
    one.other_share = 1 - 2 * q;
    needs.values.push_back({behind.site, away});
  } else {
    one.own_share = 1 / (2 * q);
    one.other_share = (2 * q - 1) / (2 * q);
    needs.values.push_back({site, direction});
  }
  return one;
}

// The flow of a long tube, with that mean speed.
double inflow_at(const Vessel& vessel, const Site& site, int direction) {
  const double y = site.y - vessel.axis().y;
  const double z = site.z - vessel.axis().z;
  const double share = (y * y + z * z) / (vessel.radius() * vessel.radius());
  const double speed = share < 1 ? 2 * (1 - share) : 0;
  return 6 * weight(direction) * velocities[direction].x * speed;
}

void find_needs(const Vessel& vessel, std::int32_t site, Needs& needs) {
  needs.values.clear();
  needs.corrections.clear();
  std::array<Link, directions> links;
  bool is_at_outlet = false;
  for (int i = 0; i < directions; ++i) {
    links[i] = i == 0 ? Link{Link::Kind::fluid, site} : vessel.link(site, i);
    is_at_outlet = is_at_outlet || links[i].kind == Link::Kind::outlet;
    const bool is_fluid = links[i].kind == Link::Kind::fluid;
    needs.values.push_back(is_fluid ? Value{links[i].site, i} : Value{site, opposite(i)});
  }
  const auto own_values = static_cast<Place>(needs.values.size());
  if (is_at_outlet) {
    for (int i = 0; i < directions; ++i) needs.values.push_back({site, i});
  }
  for (int i = 1; i < directions; ++i) {
    switch (links[i].kind) {
      case Link::Kind::fluid:
        break;
      case Link::Kind::wall:
        needs.corrections.push_back(wall_correction(vessel, site, i, links[i].wall_distance, needs));
        break;
      case Link::Kind::inlet:
        needs.corrections.push_back(
            {.kind = Link::Kind::inlet, .direction = i, .inflow = inflow_at(vessel, vessel.sites()[site], i)});
        break;
      case Link::Kind::outlet:
        needs.corrections.push_back({.kind = Link::Kind::outlet, .direction = i, .other = own_values});
        break;
    }
  }
}

// Adds a site of this rank: gives each value that it needs a place.
void add_site(const Needs& needs, const std::vector<Place>& places, std::int32_t number, bool is_inner, Step& step) {
  step.sources.insert(step.sources.end(), places.begin(), places.begin() + directions);
  for (Correction one : needs.corrections) {
    if (one.kind == Link::Kind::wall) {
      one.other = places[one.other];
    } else if (one.kind == Link::Kind::outlet) {
      const auto first = static_cast<Place>(step.extras.size());
      step.extras.insert(step.extras.end(), places.begin() + one.other, places.begin() + one.other + directions);
      one.other = first;
    }
    step.corrections.push_back(one);
  }
  step.first_correction.push_back(static_cast<std::int32_t>(step.corrections.size()));
  (is_inner ? step.inner : step.outer).push_back(number);
}

}  // namespace

Transfer plan_transfer(const Vessel& vessel, const Owners& holders, const Owners& owners, std::int32_t rank) {
  Transfer plan;
  std::vector<std::int32_t> held(holders.size(), -1);  // number of a site among those that this rank holds
  for (std::int32_t site = 0; site < vessel.size(); ++site) {
    if (owners[site] == rank) plan.owned_sites.push_back(site);
    if (holders[site] != rank) continue;
    held[site] = static_cast<std::int32_t>(plan.held_sites.size());
    plan.held_sites.push_back(site);
  }
  const auto held_values = static_cast<Place>(plan.held_sites.size()) * directions;
  std::map<std::int32_t, Peer> peers;
  plan.step.first_correction.push_back(0);
  Needs needs;
  std::vector<Place> places;
  for (std::int32_t site = 0; site < vessel.size(); ++site) {
    find_needs(vessel, site, needs);
    const bool is_own = owners[site] == rank;
    bool is_inner = true;
    places.clear();
    for (const Value& value : needs.values) {
      const std::int32_t holder = holders[value.site];
      if (is_own && holder != rank) {
        places.push_back(held_values + plan.arriving++);
        peers[holder].received.push_back(places.back());
        is_inner = false;
      } else if (holder == rank) {
        places.push_back(held[value.site] * directions + value.direction);
        if (!is_own) peers[owners[site]].sent.push_back(places.back());
      }
    }
    if (is_own) {
      const auto number = static_cast<std::int32_t>(plan.step.first_correction.size()) - 1;
      add_site(needs, places, number, is_inner, plan.step);
    }
  }
  for (auto& [peer, entry] : peers) {
    entry.rank = peer;
    plan.peers.push_back(std::move(entry));
  }
  return plan;
}

}  // namespace bloodflow
