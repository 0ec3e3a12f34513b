"""Which test module checks each formula of the reference values. Move a formula up when a test of it lands."""

from __future__ import annotations


def _read(text: str) -> dict[str, str]:
    """{formula: heading} of indented names under headings that end in a colon."""
    found: dict[str, str] = {}
    heading = ""
    for line in text.splitlines():
        if line.endswith(":"):
            heading = line[:-1]
        for name in () if line.endswith(":") else line.split():
            if name in found:
                raise ValueError(f"{name} is listed twice")
            found[name] = heading
    return found


COVERED = _read("""
tests/notions/test_reference_values.py:
    agdp_delta azcdp_to_dp_delta dgauss_delta dgauss_norm dgauss_pmf dgauss_variance dlaplace_delta dlaplace_pmf
    dp_to_pdp fdp_eps_delta gauss_delta gauss_eps gauss_mu gdp_tradeoff group_dp_delta hockey_discrete
    imgm_B_eps0 laplace_delta laplace_renyi laplace_tradeoff laplace_zcdp printed_lemma2_delta printed_ystar
    pure_to_zcdp rdp_delta rdp_delta_exact rdp_eps rdp_order_budget rdp_tau_exact renyi_discrete rr_gdp_mu
    rr_hockey rr_renyi thm8_capacity zcdp_delta_opt zcdp_delta_simple zcdp_eps_opt zcdp_eps_simple zcdp_opt_t
    zcdp_rho_max_opt zcdp_rho_max_simple
tests/adaptive/filters/test_filter_vectors.py:
    agdp_filter_residual delta_product fstar_chol fstar_output rdp_order_constant rogers_filter_bound thm8_rounds
    zcdp_filter_rounds_opt
tests/adaptive/filters/test_filter_guarantees.py:
    multiorder_counterexample
tests/accounting/test_calibration_reference.py:
    gauss_sigma_analytic gauss_sigma_classical gauss_sigma_zcdp krr_truth
tests/accounting/test_sampling.py:
    amp_eps amp_eps_add amp_eps_inverse amp_replacement_eps poisson_replace_gauss_delta poisson_replace_gauss_upper
    printed_wrong_amp sg_clt_mu sg_delta_add sg_delta_remove slap_delta_add slap_delta_remove
    with_replacement_gauss_delta wor_gauss_delta
tests/accounting/test_sampling_renyi.py:
    generic_subsampled_renyi sg_renyi sg_renyi_int wor_renyi_bound
tests/composition/test_vectors.py:
    adv_eps adv_eps_tanh cor24_mass ctd_gauss_delta ctd_gauss_mass drv_eps gauss_rr_delta gdp_clt_rr_gamma
    gdp_clt_rr_mu kov_delta_i kov_simple_eps laplace2_delta laplace_gauss_delta lemma23_eps1 opt_het_delta
    opt_het_eps opt_hom_delta opt_hom_eps sg_delta2_add sg_delta2_remove
tests/adaptive/odometers/test_odometer_vectors.py:
    gamma_onesided gamma_twosided odo_cross_filter_mixture odo_cross_filter_stitched odo_cross_mixture_stitched
    odo_filter odo_mixture_onesided_best odo_mixture_onesided_closed odo_mixture_onesided_exact
    odo_mixture_onesided_howard odo_mixture_published odo_pdp_correction odo_rdp_mixture odo_rdp_order
    odo_rogers odo_stitched odo_stitched_envelope odo_stitched_general odo_union_filter
    pdp_odometer_counterexample
tests/mechanisms/matrix/test_matrix_baselines.py:
    imgm_delta imgm_frobenius imgm_min_product imgm_sv_bound mvg_iid_std mvg_precision mvg_zeta
tests/mechanisms/matrix/test_matrix_strategies.py:
    matrix_mechanism_error
tests/adaptive/game/test_game_vectors.py:
    game_filter_value game_filter_value_delta game_natural_counterexample game_odometer_crossing
    game_threshold_delta
""")

# No test of these yet, by area.
PENDING: dict[str, str] = _read("")
