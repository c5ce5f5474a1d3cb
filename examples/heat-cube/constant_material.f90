! The linear material: its conductivity is the same at all temperatures.
module material
  use slab, only: dp
  implicit none
  private
  public :: conductivity_at

contains

  elemental real(dp) function conductivity_at(temperature) result(conductivity)
    real(dp), intent(in) :: temperature
    conductivity = 0.05_dp + 0 * temperature
  end function
end module
