! The non-linear material: it conducts better if it is hot or cold.
module material
  use slab, only: dp
  implicit none
  private
  public :: conductivity_at

contains

  elemental real(dp) function conductivity_at(temperature) result(conductivity)
    real(dp), intent(in) :: temperature
    conductivity = 0.05_dp * (1 + 0.5_dp * temperature**2)
  end function
end module
